import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { createHandler } from '../../../src/server/index.ts';
import { answer, clientWithRun } from '../requests.ts';

const RECEIPT = { version: 1, id: 'm', status: 'queued', queued: 1 };

/** A service whose only run is one of that agent, if there is one, and the messages that its callers have sent. */
function serviceOf(agentName: string | undefined): { sent: unknown[]; post: (path: string, body: object) => Promise<number> } {
  const sent: unknown[] = [];
  const send = async (content: unknown): Promise<object> => {
    sent.push(content);
    return RECEIPT;
  };
  const status = async (): Promise<object> => {
    if (agentName === undefined) throw new LonghaulError('run_not_found', 'No run');
    return { agentName };
  };
  const client = clientWithRun({ send, status }, { session: () => ({ send, status }) });
  const caller = { id: 'k1', scopes: ['runs:write'], agents: ['clerk'] } as const;
  const handler = createHandler(client, { authenticate: () => caller });
  return { sent, post: async (path, body) => (await answer(handler, 'POST', path, { body })).status };
}

test('a caller that may start some agents sends messages to their runs and sessions alone', async () => {
  for (const [path, body] of [
    ['/v1/runs/r/messages', { content: 'Hi' }],
    ['/v1/sessions/s/messages', { content: 'Hi' }],
    // The name of an agent that it may start does not open a session of another one.
    ['/v1/sessions/s/messages', { content: 'Hi', agent: 'clerk' }],
  ] as const) {
    const [own, foreign] = [serviceOf('clerk'), serviceOf('auditor')];
    expect([await own.post(path, body), own.sent]).toEqual([200, ['Hi']]);
    expect([await foreign.post(path, body), foreign.sent]).toEqual([403, []]);
  }
});

test('a caller that may start some agents starts sessions of them by a message', async () => {
  const service = serviceOf(undefined);
  expect(await service.post('/v1/sessions/s/messages', { content: 'Hi', agent: 'clerk' })).toBe(200);
  expect(await service.post('/v1/sessions/s/messages', { content: 'Hi', agent: 'auditor' })).toBe(403);
  expect(await service.post('/v1/sessions/s/messages', { content: 'Hi' })).toBe(404);
  expect(service.sent).toEqual(['Hi']);
});
