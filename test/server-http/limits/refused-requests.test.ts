import { expect, test } from 'vitest';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun, type JsonRequest, send } from '../requests.ts';

/** Names the caller of a request in a service that believes it. */
const CALLER = 'x-caller';

/** Verifies a request as the caller that it names: a caller without a principal, which is counted by its id. */
const named: HandlerOptions['authenticate'] = (request): Caller | undefined => {
  const id = request.headers.get(CALLER);
  return id === null ? undefined : { id, principal: 'all', scopes: ['runs:read', 'runs:write'] };
};

const as = (caller: string): { headers: Record<string, string> } => ({ headers: { [CALLER]: caller } });

/** Expects that a request is refused, and that its caller reads when it may come back. */
async function expectRefused(handler: Handler, method: string, path: string, request: JsonRequest): Promise<number> {
  const { status, body, headers } = await answer(handler, method, path, request);
  expect([path, status, body.code]).toEqual([path, 429, 'too_many_requests']);
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  return Number(headers.get('retry-after'));
}

test('a request over the limit is refused with the time to wait; other callers, and routes without a limit, are answered', async () => {
  const client = clientWithRun({ pause: async () => ({ version: 1, paused: true }) });
  const handler = await checkedHandler(client, { authenticate: named, limits: { requests: { count: 3, per: '30m' } } });
  const path = '/v1/runs/r/pause';
  for (let count = 0; count < 3; count += 1) expect((await answer(handler, 'POST', path, as('ada'))).status).toBe(200);
  // One is restored every 10 minutes.
  const wait = await expectRefused(handler, 'POST', path, as('ada'));
  expect(wait).toBeGreaterThan(580);
  expect(wait).toBeLessThanOrEqual(600);
  await expectRefused(handler, 'GET', '/v1/nothing', as('ada'));
  expect((await answer(handler, 'POST', path, as('bob'))).status).toBe(200);
  expect((await answer(handler, 'POST', path)).status).toBe(401);
  for (const open of ['/livez', '/v1/openapi.json']) expect((await answer(handler, 'GET', open, as('ada'))).status).toBe(200);
});

test('a refused request takes nothing: it is not read, and the client is not asked', async () => {
  const asked: string[] = [];
  const client = clientWithRun({ pause: async () => void asked.push('pause') });
  const handler = createHandler(client, { authenticate: named, limits: { requests: { count: 1, per: '1h' } } });
  await answer(handler, 'GET', '/v1/nothing', as('ada'));
  await expectRefused(handler, 'POST', '/v1/runs/r/pause', as('ada'));
  await expectRefused(handler, 'POST', '/v1/runs', { ...as('ada'), body: { wrong: true } });
  expect(asked).toEqual([]);
});

test('starts over the limit start nothing, whatever kind they are, and other requests are answered', async () => {
  const started: string[] = [];
  const start = async (what: string): Promise<{ runId: string }> => {
    started.push(what);
    return { runId: 'r' };
  };
  const session = (what: string): object => ({ open: () => start(what) });
  const client = clientWithRun({ pause: async () => ({ version: 1, paused: true }) }, { start, startProgram: start, session });
  const limits = { starts: { count: 3, per: '1h' } } as const;
  const handler = await checkedHandler(client, { authenticate: named, limits });
  const starts: [string, object][] = [
    ['/v1/runs', { agent: 'clerk', input: 'Q' }],
    ['/v1/programs', { program: 'triage' }],
    ['/v1/sessions', { agent: 'talker' }],
  ];
  for (const [path, body] of starts) expect((await answer(handler, 'POST', path, { body, ...as('ada') })).status).toBe(201);
  for (const [path, body] of starts) await expectRefused(handler, 'POST', path, { body, ...as('ada') });
  expect(started).toEqual(['clerk', 'triage', 'talker']);
  expect((await answer(handler, 'POST', '/v1/runs/r/pause', as('ada'))).status).toBe(200);
  expect((await answer(handler, 'POST', '/v1/runs', { body: starts[0]?.[1], ...as('bob') })).status).toBe(201);
});

test.each(['/v1/runs/r/stream', '/v1/sessions/r/stream'])('streams over the limit are refused until one is closed: %s', async (path) => {
  async function* endless(): AsyncGenerator<object> {
    for (;;) yield { type: 'status', status: 'running', cursor: 'c' };
  }
  const handler = await checkedHandler(clientWithRun({ stream: endless }), { authenticate: named, limits: { streams: 2 } });
  const open = (caller: string): Promise<Response> => send(handler, 'GET', path, as(caller));
  const [first, second] = [await open('ada'), await open('ada')];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(await expectRefused(handler, 'GET', path, as('ada'))).toBe(5);
  const other = await open('bob');
  expect(other.status).toBe(200);
  await first.body?.cancel();
  const third = await open('ada');
  expect(third.status).toBe(200);
  await expectRefused(handler, 'GET', path, as('ada'));
  for (const { body } of [second, other, third]) await body?.cancel();
});

test('a service has limits unless they are switched off', async () => {
  const start = async (): Promise<{ runId: string }> => ({ runId: 'r' });
  /** Starts runs until one is refused, or none is. Returns the number of those that have begun. */
  const begun = async (options: HandlerOptions): Promise<number> => {
    const handler = createHandler(clientWithRun({}, { start }), options);
    for (let count = 0; count < 1_000; count += 1) {
      const { status } = await answer(handler, 'POST', '/v1/runs', { body: { agent: 'clerk', input: 'Q' } });
      if (status === 429) return count;
    }
    return 1_000;
  };
  const most = await begun({});
  // 600 at once, and 10 more each second.
  expect(most).toBeGreaterThanOrEqual(600);
  expect(most).toBeLessThan(900);
  expect(await begun({ limits: { requests: false } })).toBeLessThan(900);
  expect(await begun({ limits: false })).toBe(1_000);
});
