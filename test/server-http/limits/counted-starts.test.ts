import { expect, test } from 'vitest';
import { type Caller, createHandler } from '../../../src/server/index.ts';
import { OPENAI_ROUTES } from '../../../src/server/protocols/openai/openai-routes.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';
import { answer, clientWithRun } from '../requests.ts';

const receipt = { version: 1, id: 'm', status: 'queued', queued: 1 };
const retried = { runId: 'r', fromStep: 1, executionId: 'e', dropped: [] };

/** Sends a request several times, with a limit of one start an hour. Returns the statuses, and the number of calls to the run. */
async function repeated(path: string, body: object, caller: Partial<Caller> = {}): Promise<[statuses: number[], asked: number]> {
  let asked = 0;
  const asking = (reply: object) => async (): Promise<object> => {
    asked += 1;
    return reply;
  };
  const run = { send: asking(receipt), retry: asking(retried), status: async () => ({ agentName: 'clerk' }) };
  const whole: Caller = { id: 'c', principal: 'all', scopes: ['runs:write'], ...caller };
  const handler = createHandler(clientWithRun(run), { authenticate: () => whole, limits: { starts: { count: 1, per: '1h' } } });
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await answer(handler, 'POST', path, { body })).status);
  return [statuses, asked];
}

test('a message and a retry count as starts', async () => {
  for (const [path, body] of [
    ['/v1/runs/r/messages', { content: 'Hi' }],
    ['/v1/sessions/s/messages', { content: 'Hi' }],
    ['/v1/runs/r/retry', {}],
  ] as const) {
    expect(await repeated(path, body)).toEqual([[200, 429, 429], 1]);
  }
});

test('a run is retried by callers that may start its agent alone', async () => {
  expect(await repeated('/v1/runs/r/retry', {}, { agents: ['clerk'] })).toEqual([[200, 429, 429], 1]);
  expect(await repeated('/v1/runs/r/retry', {}, { agents: ['other'] })).toEqual([[403, 429, 429], 0]);
});

test('these routes count as starts', () => {
  const counted = [...ROUTES, ...OPENAI_ROUTES].map(({ definition }) => definition).filter(({ counts }) => counts === 'starts');
  expect(counted.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
    'POST /v1/agents/{agent}/chat',
    'POST /v1/chat/completions',
    'POST /v1/programs',
    'POST /v1/responses',
    'POST /v1/runs',
    'POST /v1/runs/{runId}/messages',
    'POST /v1/runs/{runId}/retry',
    'POST /v1/sessions',
    'POST /v1/sessions/{sessionId}/ask',
    'POST /v1/sessions/{sessionId}/messages',
  ]);
});
