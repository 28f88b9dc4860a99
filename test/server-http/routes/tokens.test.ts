import { type ErrorEvent, EventSource } from 'eventsource';
import { afterEach, expect, test, vi } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { apiKeys, createApiKey } from '../../../src/server/auth/api-keys.ts';
import type { Handler, HandlerOptions } from '../../../src/server/index.ts';
import { type HttpServer, listen } from '../../../src/server/node-server.ts';
import { memoryApiKeys } from '../auth/fake-credentials.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun } from '../requests.ts';

interface Token {
  token: string;
  runId: string;
  expiresAt: string;
}

const SECRETS = { tokenSecrets: ['s'.repeat(32)] };

let server: HttpServer | undefined;
const sources: EventSource[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const source of sources.splice(0)) source.close();
  await server?.close(0);
  server = undefined;
});

/** A run that has a status and nothing else, until its reader goes. */
async function* silent({ signal }: { signal: AbortSignal }): AsyncGenerator<object> {
  yield { type: 'status', status: 'running', cursor: 'c1' };
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}

/** A service for one caller with an API key, which may read runs, and the header with the key. Runs "r" and "other" exist. */
async function keyedService(options: HandlerOptions = SECRETS): Promise<{ handler: Handler; headers: Record<string, string> }> {
  const store = memoryApiKeys();
  const { text } = await createApiKey(store, { name: 'backend', scopes: ['runs:read'], principal: { tenant: 'acme' } });
  const handle = (runId: string): object => ({
    runId,
    stream: silent,
    status: async () => {
      if (!['r', 'other'].includes(runId)) throw new LonghaulError('run_not_found', 'No run');
      return {};
    },
  });
  const handler = await checkedHandler(clientWithRun({}, { handle }), { authenticate: apiKeys(store), ...options });
  return { handler, headers: { authorization: `Bearer ${text}` } };
}

/** Opens a stream as a page does. `next` resolves with the next event of a type. */
function page(path: string): { source: EventSource; next: <Type extends 'status' | 'error'>(type: Type) => Promise<Event & ErrorEvent> } {
  const source = new EventSource(`${server?.url}${path}`);
  sources.push(source);
  return {
    source,
    next: (type) =>
      new Promise((resolve) => source.addEventListener(type, (event) => resolve(event as Event & ErrorEvent), { once: true })),
  };
}

test("a caller with a key makes a token, which opens the stream of its run in a page, and no other run's", async () => {
  const { handler, headers } = await keyedService();
  const { status, body } = await answer<Token>(handler, 'POST', '/v1/tokens', { body: { runId: 'r' }, headers });
  expect([status, body.runId]).toEqual([201, 'r']);
  server = await listen(handler, { host: '127.0.0.1', port: 0 });
  const own = page(`/v1/runs/r/stream?token=${body.token}`);
  expect(await own.next('status')).toMatchObject({ data: '{"type":"status","status":"running"}', lastEventId: 'c1' });
  for (const [path, code] of [
    [`/v1/runs/other/stream?token=${body.token}`, 404],
    ['/v1/runs/r/stream', 401],
    [`/v1/runs/r/stream?token=${body.token}x`, 401],
  ] as const) {
    const refused = page(path);
    const { code: found } = await refused.next('error');
    expect([path, found, refused.source.readyState]).toEqual([path, code, EventSource.CLOSED]);
  }
  expect(own.source.readyState).toBe(EventSource.OPEN);
});

test('a token is over after its minutes: it opens no stream, and an open stream ends with it', async () => {
  // The clock stands still, and the test moves it.
  vi.useFakeTimers({ toFake: ['Date'] });
  const begun = Date.now();
  const { handler, headers } = await keyedService();
  const { body } = await answer<Token>(handler, 'POST', '/v1/tokens', { body: { runId: 'r', minutes: 3 }, headers });
  const end = Date.parse(body.expiresAt);
  expect(end).toBeGreaterThan(begun + 179_000);
  expect(end).toBeLessThanOrEqual(begun + 180_000);
  vi.setSystemTime(end - 20);
  server = await listen(handler, { host: '127.0.0.1', port: 0 });
  const path = `/v1/runs/r/stream?token=${body.token}`;
  const open = page(path);
  await open.next('status');
  const cut = open.next('error');
  vi.setSystemTime(end);
  expect((await cut).code).toBeUndefined();
  // The page reconnects by itself, and is told that its token has expired.
  expect((await open.next('error')).code).toBe(401);
  expect(open.source.readyState).toBe(EventSource.CLOSED);
  expect((await page(path).next('error')).code).toBe(401);
});

test('a token is made for a run that the caller reaches, with a part of its rights, for an hour at most', async () => {
  const { handler, headers } = await keyedService();
  const made = async (body: object, given = headers): Promise<unknown[]> => {
    const { status, body: problem } = await answer(handler, 'POST', '/v1/tokens', { body, headers: given });
    return [status, problem.code];
  };
  expect(await made({ runId: 'r', minutes: 60, scopes: ['runs:read'] })).toEqual([201, undefined]);
  expect(await made({ runId: 'r' }, {})).toEqual([401, 'unauthenticated']);
  expect(await made({ runId: 'unknown' })).toEqual([404, 'run_not_found']);
  expect(await made({ runId: 'r', scopes: ['approvals:decide'] })).toEqual([403, 'forbidden']);
  for (const wrong of [{ minutes: 61 }, { minutes: 0 }, { scopes: [] }, { scopes: ['runs:write'] }, { user: 'ada' }]) {
    expect(await made({ runId: 'r', ...wrong })).toEqual([422, 'invalid_request']);
  }
});

test('a token makes no further token', async () => {
  const { handler, headers } = await keyedService();
  const { body } = await answer<Token>(handler, 'POST', '/v1/tokens', { body: { runId: 'r' }, headers });
  const bearing = { authorization: `Bearer ${body.token}` };
  for (const runId of ['r', 'other']) {
    expect(await answer(handler, 'POST', '/v1/tokens', { body: { runId }, headers: bearing })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
  }
});

test('requests with a token count as requests of its creator', async () => {
  const { handler, headers } = await keyedService({ ...SECRETS, limits: { requests: { count: 2, per: '1h' } } });
  const { body } = await answer<Token>(handler, 'POST', '/v1/tokens', { body: { runId: 'r' }, headers });
  const path = `/v1/runs/other/stream?token=${body.token}`;
  expect((await answer(handler, 'GET', path)).status).toBe(404);
  expect((await answer(handler, 'GET', path)).status).toBe(429);
  expect((await answer(handler, 'POST', '/v1/tokens', { body: { runId: 'r' }, headers })).status).toBe(429);
});

test('a service without a secret makes no tokens, and says so', async () => {
  const { handler, headers } = await keyedService({});
  const { status, body } = await answer(handler, 'POST', '/v1/tokens', { body: { runId: 'r' }, headers });
  expect([status, body.code]).toEqual([409, 'tokens_off']);
});
