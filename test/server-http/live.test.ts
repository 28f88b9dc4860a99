import { expect, test } from 'vitest';
import { checkedHandler } from './checked-handler.ts';
import { answer, clientWithRun } from './requests.ts';

test('a run, a session and a program are started so that heartbeats carry their output', async () => {
  const options: unknown[] = [];
  const start = async (_what: unknown, given: unknown): Promise<{ runId: string }> => {
    options.push(given);
    return { runId: 'r' };
  };
  const session = (_agent: unknown, given: unknown): object => ({ open: async () => void options.push(given) });
  const handler = await checkedHandler(clientWithRun({}, { start, startProgram: start, session }));
  const starts: [string, object][] = [
    ['/v1/runs', { agent: 'clerk', input: 'Q' }],
    ['/v1/sessions', { agent: 'clerk' }],
    ['/v1/programs', { program: 'triage' }],
  ];
  for (const [path, body] of starts) {
    expect((await answer(handler, 'POST', path, { body: { ...body, live: true } })).status).toBe(201);
    const { status, body: problem } = await answer(handler, 'POST', path, { body: { ...body, live: 'yes' } });
    expect([status, problem.errors?.map(({ pointer }) => pointer)]).toEqual([422, ['#/live']]);
  }
  expect(options).toMatchObject([{ live: true }, { live: true }, { live: true }]);
});
