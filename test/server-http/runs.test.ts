import { expect, test } from 'vitest';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { requestId, runIdOfKey } from '../../src/server/requests.ts';
import { type Caller, createHandler } from '../../src/server/index.ts';
import { checkedHandler } from './checked-handler.ts';
import { answer, clientWithRun } from './requests.ts';

const DECIDED = {
  version: 1,
  status: 'decided',
  decision: { id: 'd', type: 'approve', callId: 'c', toolName: 't', digest: 'x', by: 'ops', source: 'update', at: '2026-11-25T00:00:00Z' },
};

/** A handler for callers with these rights, and the calls of the client's methods that it made. */
async function recorded(methods: string[], caller: Partial<Caller> = {}, answers: Record<string, unknown> = {}) {
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    async (...parameters: unknown[]) => {
      calls.push([name, ...parameters]);
      return answers[name];
    };
  const client = clientWithRun(Object.fromEntries(methods.map((name) => [name, record(name)])), {
    start: async (...parameters: unknown[]) => {
      calls.push(['start', ...parameters]);
      return { runId: 'started' };
    },
  });
  const whole: Caller = { id: 'ops', principal: 'all', scopes: ['admin'], ...caller };
  return { handler: await checkedHandler(client, { authenticate: () => whole, onError: () => undefined }), calls };
}

test('decisions, raises and cancellations are attributed to the caller, whoever the body names', async () => {
  const answers = {
    approve: DECIDED,
    reject: DECIDED,
    respond: DECIDED,
    raise: { version: 1, id: 'i', status: 'raised', limits: { steps: 30, finalAttempt: false } },
    setPermissions: { version: 1, id: 'i', status: 'set' },
    cancel: 'requested',
  };
  const { handler, calls } = await recorded(Object.keys(answers), {}, answers);
  const decide = '/v1/runs/r/approvals/c';
  const by = 'the-boss';
  const requests: [string, string, object][] = [
    ['POST', decide, { type: 'approve', digest: 'x', by, arguments: { a: 1 }, remember: 'tool' }],
    ['POST', decide, { type: 'reject', digest: 'x', by, reason: 'no', runId: 'r/1' }],
    ['POST', decide, { type: 'respond', digest: 'x', by, content: null, id: 'mine' }],
    ['POST', '/v1/runs/r/limits', { limits: { steps: 30 }, by }],
    ['PUT', '/v1/runs/r/permissions', { permissions: { deny: ['rm'] }, by }],
    ['POST', '/v1/runs/r/cancel', { reason: 'enough', by }],
  ];
  for (const [method, path, body] of requests) {
    const headers = { 'idempotency-key': 'key-1' };
    expect((await answer(handler, method, path, { body, headers })).status).toBe(200);
  }
  const { id } = requestId({}, { caller: { id: 'ops', principal: 'all', scopes: [] }, idempotencyKey: 'key-1' });
  expect(calls).toEqual([
    ['approve', { callId: 'c', digest: 'x' }, { by: 'ops', id, arguments: { a: 1 }, remember: 'tool' }],
    ['reject', { callId: 'c', digest: 'x', runId: 'r/1' }, { by: 'ops', id, reason: 'no' }],
    ['respond', { callId: 'c', digest: 'x' }, null, { by: 'ops', id: 'mine' }],
    ['raise', { steps: 30 }, { by: 'ops', id }],
    ['setPermissions', { deny: ['rm'] }, { by: 'ops', id }],
    ['cancel', 'enough', { by: 'ops' }],
  ]);
});

test('a decision without the digest of the approval is refused', async () => {
  const { handler, calls } = await recorded(['approve']);
  const { status, body } = await answer(handler, 'POST', '/v1/runs/r/approvals/c', { body: { type: 'approve' } });
  expect([status, body.errors?.map(({ pointer }) => pointer)]).toEqual([422, ['#/digest']]);
  expect(calls).toEqual([]);
});

test('an idempotency key of any length becomes an id that a run takes', async () => {
  const { handler, calls } = await recorded(['send'], {}, { send: { version: 1, id: 'x', status: 'queued', queued: 1 } });
  const send = (key: string): ReturnType<typeof answer> =>
    answer(handler, 'POST', '/v1/runs/r/messages', { body: { content: 'Hello' }, headers: { 'idempotency-key': key } });
  for (const key of ['1', 'k'.repeat(255)]) await send(key);
  const id = expect.stringMatching(/^key-[\da-f]{40}$/) as string;
  expect(calls).toEqual([
    ['send', 'Hello', { id }],
    ['send', 'Hello', { id }],
  ]);
  expect((await send('k'.repeat(256))).status).toBe(422);
});

test('the same idempotency key of another principal, or of another caller without one, becomes another id', () => {
  const ids = [
    { id: 'a', principal: { tenant: 'acme', user: 'ada' } },
    { id: 'b', principal: { tenant: 'acme', user: 'bob' } },
    { id: 'a', principal: { tenant: 'acme' } },
    { id: 'a' },
    { id: 'b' },
  ].map((caller) => requestId({}, { caller: { principal: 'all', scopes: [], ...caller }, idempotencyKey: '1' }).id);
  expect(new Set(ids).size).toBe(5);
  const again = { id: 'new key', scopes: [], principal: { tenant: 'acme', user: 'ada', claims: { role: 'clerk' } } };
  expect(requestId({}, { caller: again, idempotencyKey: '1' })).toEqual({ id: ids[0] });
  expect(requestId({ id: 'own' }, { caller: again, idempotencyKey: '1' })).toEqual({ id: 'own' });
});

test.each([
  ['POST', '/v1/runs/r/messages', 'send', { content: 'Hello' }],
  ['POST', '/v1/runs/r/limits', 'raise', { limits: { steps: 30 } }],
  ['PUT', '/v1/runs/r/permissions', 'setPermissions', { permissions: {} }],
  ['POST', '/v1/runs/r/approvals/c', 'approve', { type: 'approve', digest: 'x' }],
])('%s %s: an id that another request has is 422', async (method, path, name, body) => {
  const refuse = (): never => {
    throw new LonghaulError('key_reused', 'Run "r" has accepted another request with the id "1"');
  };
  const client = clientWithRun({ [name]: async () => refuse(), status: async () => ({ status: 'running', limits: { steps: 10 } }) });
  const handler = await checkedHandler(client, { authenticate: () => ({ id: 'ops', principal: 'all', scopes: ['admin'] }) });
  expect(await answer(handler, method, path, { body })).toMatchObject({ status: 422, body: { code: 'key_reused' } });
});

test('each route needs its scope, and "admin" includes the others', async () => {
  const routes: [string, string, object | undefined, Caller['scopes'][number]][] = [
    ['GET', '/v1/runs/r', undefined, 'runs:read'],
    ['POST', '/v1/runs', { agent: 'a', input: 'Q' }, 'runs:write'],
    ['POST', '/v1/runs/r/approvals/c', { type: 'approve', digest: 'x' }, 'approvals:decide'],
    ['PUT', '/v1/runs/r/permissions', { permissions: {} }, 'approvals:decide'],
    ['DELETE', '/v1/runs/r', undefined, 'admin'],
  ];
  for (const [method, path, body, scope] of routes) {
    const others = (['runs:read', 'runs:write', 'approvals:decide'] as const).filter((one) => one !== scope);
    const { handler, calls } = await recorded([], { scopes: others });
    const refused = await answer(handler, method, path, body === undefined ? {} : { body });
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    expect(refused.body.detail).toContain(`"${scope}"`);
    expect(calls).toEqual([]);
  }
});

test('an unverified request is refused before anything is revealed about the path', async () => {
  const handler = await checkedHandler(clientWithRun({}), { authenticate: () => undefined });
  for (const path of ['/v1/runs/r', '/v1/runs', '/v1/nothing']) {
    const { status, body, headers } = await answer(handler, 'GET', path);
    expect([status, body.code, headers.get('www-authenticate')]).toEqual([401, 'unauthenticated', 'Bearer realm="longhaul"']);
  }
  expect((await answer(handler, 'GET', '/livez')).status).toBe(200);
});

test('credentials that have expired are refused', async () => {
  const { handler } = await recorded(['pause'], { expiresAt: Date.now() - 1 });
  expect((await answer(handler, 'POST', '/v1/runs/r/pause')).status).toBe(401);
});

test('an error of the verification is not a refusal of the caller', async () => {
  const authenticate = (): never => {
    throw new Error('the key store is down');
  };
  const handler = await checkedHandler(clientWithRun({}), { authenticate, onError: () => undefined });
  expect((await answer(handler, 'GET', '/v1/runs/r')).status).toBe(503);
});

test('a caller for one run reaches that run alone', async () => {
  const { handler, calls } = await recorded(['pause'], { runId: 'mine' }, { pause: { version: 1, paused: true } });
  expect((await answer(handler, 'POST', '/v1/runs/mine/pause')).status).toBe(200);
  expect((await answer(handler, 'POST', '/v1/runs/other/pause')).body).toMatchObject({ status: 404, code: 'run_not_found' });
  expect((await answer(handler, 'POST', '/v1/runs', { body: { agent: 'a', input: 'Q' } })).status).toBe(403);
  expect(calls).toEqual([['pause']]);
});

test('a caller starts the agents of its credentials alone', async () => {
  const { handler, calls } = await recorded([], { agents: ['clerk'] });
  expect((await answer(handler, 'POST', '/v1/runs', { body: { agent: 'other', input: 'Q' } })).body).toMatchObject({ status: 403 });
  expect((await answer(handler, 'POST', '/v1/runs', { body: { agent: 'clerk', input: 'Q' } })).status).toBe(201);
  expect(calls).toHaveLength(1);
});

test('a caller that acts for a principal cannot name another one, or claims, and options of the operator need "admin"', async () => {
  const { handler, calls } = await recorded([], { principal: { tenant: 'acme' }, scopes: ['runs:write'] });
  const fields = [
    { principal: { tenant: 'acme', claims: { role: 'admin' } } },
    { taskQueue: 'other' },
    { priority: 1 },
    { fairnessKey: 'x' },
    { searchAttributes: { Region: { type: 'KEYWORD', value: 'eu' } } },
  ];
  for (const field of fields) {
    const { status, body } = await answer(handler, 'POST', '/v1/runs', { body: { agent: 'clerk', input: 'Q', ...field } });
    expect([status, body.errors?.[0]?.pointer]).toEqual([403, `#/${Object.keys(field)[0]}`]);
  }
  expect(calls).toEqual([]);
});

test('a start answers 201 with the path of the run, also below a prefix', async () => {
  const client = clientWithRun({}, { start: async () => ({ runId: 'a/ü' }) });
  const handler = await checkedHandler(client, { prefix: '/api' });
  const { status, body, headers } = await answer<object>(handler, 'POST', '/api/v1/runs', { body: { agent: 'clerk', input: 'Q' } });
  expect([status, body, headers.get('location')]).toEqual([201, { runId: 'a/ü', repeated: false }, '/api/v1/runs/a%2F%C3%BC']);
});

test('a start with a key has a run id that follows from the principal and the key', async () => {
  const acme = { tenant: 'acme', user: 'ada' };
  const ids = [runIdOfKey(acme, 'k'), runIdOfKey({ ...acme, claims: { role: 'x' } }, 'k')];
  expect(new Set(ids).size).toBe(1);
  const others = [
    runIdOfKey(undefined, 'k'),
    runIdOfKey({ tenant: 'acme' }, 'k'),
    runIdOfKey({ user: 'acme' }, 'k'),
    runIdOfKey(acme, 'l'),
  ];
  expect(new Set([...ids, ...others]).size).toBe(5);
});

test('a wait that ends before the run answers 202 with its status, and any other error is reported', async () => {
  const status = { runId: 'r', status: 'running' };
  const result = async ({ timeout }: { timeout: number }): Promise<never> => {
    throw new LonghaulError('wait_timeout', `not within ${timeout} ms`);
  };
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, cachedTokens: 0, reasoningTokens: 0, llmCalls: 0 };
  const view = {
    ...status,
    version: 1,
    agentName: 'a',
    about: { agentName: 'a' },
    currentStep: 1,
    usage,
    toolCallsTotal: 0,
    events: 1,
    executions: 1,
    queued: 0,
    waitingFor: [],
    toolCallsStarted: 0,
    startTime: '2026-11-25T00:00:00Z',
  };
  const handler = await checkedHandler(clientWithRun({ result, status: async () => view }));
  const { status: code, body } = await answer<object>(handler, 'GET', '/v1/runs/r/result?wait=10ms');
  expect([code, body]).toEqual([202, view]);
  expect((await answer(handler, 'GET', '/v1/runs/r/result')).status).toBe(202);
  const terminated = async (): Promise<never> => {
    throw new LonghaulError('run_terminated', 'It was terminated');
  };
  const ended = await checkedHandler(clientWithRun({ result: terminated }));
  expect((await answer(ended, 'GET', '/v1/runs/r/result?wait=10ms')).body).toMatchObject({ status: 409, code: 'run_terminated' });
});

test('once the service is about to end, waits are answered at once', async () => {
  const closing = new AbortController();
  let begun: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const result = async ({ signal }: { signal: AbortSignal }): Promise<never> => {
    begun();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  };
  const status = async (): Promise<never> => {
    throw new LonghaulError('run_not_found', 'gone');
  };
  const handler = await checkedHandler(clientWithRun({ result, status }), { closing: closing.signal });
  const answered = answer(handler, 'GET', '/v1/runs/r/result?wait=60s');
  await waiting;
  closing.abort();
  expect((await answered).body.code).toBe('run_not_found');
  expect((await answer<{ status: string }>(handler, 'GET', '/readyz')).body.status).toBe('shutting_down');
});

test('events come in pages, and the last one has no next', async () => {
  const event = (id: number) => ({ id: String(id), executionId: 'r', timestamp: new Date(id).toISOString(), author: 'user', content: [] });
  const events = async function* ({ from }: { from: number }) {
    for (let id = from; id < 5; id += 1) yield event(id);
  };
  const handler = await checkedHandler(clientWithRun({ events }));
  const page = async (query: string) => (await answer<object>(handler, 'GET', `/v1/runs/r/events${query}`)).body;
  expect(await page('?limit=2')).toEqual({ runId: 'r', from: 0, events: [event(0), event(1)], next: 2 });
  expect(await page('?limit=2&from=3')).toEqual({ runId: 'r', from: 3, events: [event(3), event(4)] });
  expect(await page('?from=9')).toEqual({ runId: 'r', from: 9, events: [] });
});

test.each(['', ' ', '-1', '1.5', '1e3', '0x10', '+1', '１', 'Infinity', '9007199254740992', '[]', '1,2', 'null'])(
  'the number "%s" in a query is refused by its name',
  async (text) => {
    const handler = await checkedHandler(clientWithRun({}));
    for (const path of ['/v1/runs/r/events', '/v1/runs/r/context']) {
      const { status, body } = await answer<object>(handler, 'GET', `${path}?from=${encodeURIComponent(text)}`);
      expect(status).toBe(422);
      expect(JSON.stringify(body)).toContain('from');
    }
  },
);

test('an export that fails later is cut off before its end', async () => {
  const lines = async function* () {
    yield { type: 'run' };
    throw new Error('lost');
  };
  const response = await createHandler(clientWithRun({ export: () => lines() }), { onError: () => undefined })(
    new Request('http://localhost/v1/runs/r/export'),
  );
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow('the stream was cut');
});
