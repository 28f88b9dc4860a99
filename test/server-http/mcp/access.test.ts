import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import type { Principal } from '../../../src/core/domain/run.ts';
import { type Caller, createHandler, type Handler } from '../../../src/server/index.ts';
import { documentOf } from '../checked-handler.ts';
import { FakeRuns, mcpClient } from './fake-runs.ts';

const agents = ['clerk', 'auditor', 'clerk!'].map((name) => defineAgent({ name, model: 'scripted/m' }));

/** A service for one caller, and the runs that it starts: each ends at once. */
function served(caller: Partial<Caller> = {}): { runs: FakeRuns; handler: Handler } {
  const runs = new FakeRuns((run) => run.ends({ output: 'Done' }));
  return {
    runs,
    handler: createHandler(runs.client, {
      agents,
      authenticate: () => ({ id: 'ops', principal: 'all', scopes: ['runs:write'], ...caller }),
    }),
  };
}

function post(handler: Handler, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const accept = 'application/json, text/event-stream';
  return handler(
    new Request('http://localhost/mcp', { method: 'POST', body, headers: { 'content-type': 'application/json', accept, ...headers } }),
  );
}

const call = (id: number, input = 'Q', meta: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'clerk', arguments: { input }, _meta: meta } });

test('a caller sees and calls the agents that it may start, by names that clients take', async () => {
  const { handler, runs } = served({ agents: ['clerk', 'clerk!'] });
  await using client = await mcpClient(handler, 'auto');
  const { tools } = await client.listTools();
  expect(tools.map(({ name, title }) => [name, title])).toEqual([
    ['clerk', undefined],
    ['clerk_', 'clerk!'],
  ]);
  await expect(client.callTool({ name: 'auditor', arguments: { input: 'Q' } })).rejects.toMatchObject({ code: -32602 });
  expect(runs.started).toEqual([]);
});

test('agents whose names become equal are distinguished on every instance', async () => {
  const names = async (): Promise<string[]> => {
    const alike = ['the clerk', 'the_clerk'].map((name) => defineAgent({ name, model: 'scripted/m' }));
    await using client = await mcpClient(createHandler(new FakeRuns(() => undefined).client, { agents: alike }), 'auto');
    return (await client.listTools()).tools.map(({ name }) => name);
  };
  const once = await names();
  expect(new Set(once).size).toBe(2);
  expect(await names()).toEqual(once);
});

test.each([
  ['without the scope', { scopes: ['runs:read'] }, 403, 'forbidden'],
  ['of a token for one run', { runId: 'r' }, 403, 'forbidden'],
  ['whose credentials are over', { expiresAt: 1 }, 401, 'unauthenticated'],
] as const)('a caller %s is refused before anything is read', async (_, caller, status, code) => {
  const { handler, runs } = served(caller);
  const response = await post(handler, call(1));
  expect([response.status, await response.json()]).toMatchObject([status, { code }]);
  expect(runs.started).toEqual([]);
});

test('a body that is not a message is refused as JSON-RPC requires', async () => {
  const { handler } = served();
  const answer = async (body: string, headers = {}): Promise<unknown[]> => {
    const response = await post(handler, body, headers);
    return [response.status, ((await response.json()) as { error: { code: number } }).error.code];
  };
  expect(await answer('{')).toEqual([400, -32700]);
  expect(await answer('')).toEqual([400, -32700]);
  expect(await answer('{}', { 'content-type': 'text/plain' })).toEqual([415, -32600]);
  expect(await answer(JSON.stringify('x'.repeat(1_000_001)))).toEqual([413, -32600]);
  expect(await answer('{"jsonrpc":"2.0"}')).toEqual([400, -32600]);
});

test('there is nothing to get or to delete, and the document of the service is about other routes', async () => {
  const { handler } = served();
  for (const method of ['GET', 'DELETE']) {
    const response = await handler(new Request('http://localhost/mcp', { method }));
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  }
  expect(Object.keys((await documentOf(handler)).paths)).not.toContain('/mcp');
});

const runIds = async (principal: Principal | undefined, requests: [id: number, session?: string, meta?: object][]): Promise<unknown[]> => {
  const { runs, handler } = served(principal === undefined ? {} : { principal });
  for (const [id, session, meta] of requests) {
    const response = await post(handler, call(id, 'Q', meta), session === undefined ? {} : { 'mcp-session-id': session });
    await response.text();
  }
  return runs.started.map(({ options }) => options['runId']);
};

test('each client of 2025 gets its own session, and the same request in it is the same run on every instance', async () => {
  const { handler } = served();
  const sessions = await Promise.all(
    [1, 2].map(async () => {
      const seen: Request[] = [];
      await using client = await mcpClient(handler, 'legacy', seen);
      await client.callTool({ name: 'clerk', arguments: { input: 'Q' } });
      return seen.at(-1)?.headers.get('mcp-session-id');
    }),
  );
  expect(sessions.every((session) => /^[\da-f-]{36}$/.test(session ?? ''))).toBe(true);
  expect(new Set(sessions).size).toBe(2);
  const one = await runIds(undefined, [
    [1, 'a'],
    [2, 'a'],
    [1, 'b'],
  ]);
  expect(new Set(one).size).toBe(3);
  expect(await runIds(undefined, [[1, 'a']])).toEqual(one.slice(0, 1));
});

test("a key is the same run in every session, and never another principal's run", async () => {
  const keyed: [number, string, object][] = [[1, 'a', { 'longhaul/idempotencyKey': 'k' }]];
  const [ofAnna] = await runIds({ tenant: 'acme', user: 'anna' }, keyed);
  expect(await runIds({ tenant: 'acme', user: 'anna' }, [[9, 'z', { 'longhaul/idempotencyKey': 'k' }]])).toEqual([ofAnna]);
  expect(await runIds({ tenant: 'acme', user: 'ben' }, keyed)).not.toEqual([ofAnna]);
  expect(await runIds(undefined, keyed)).not.toEqual([ofAnna]);
});

test('a request without a session and without a key is a separate run', async () => {
  expect(await runIds(undefined, [[1], [1]])).toEqual([undefined, undefined]);
});

test.each(['', 7, 'x'.repeat(256)])('an invalid key starts nothing: %j', async (key) => {
  const { runs, handler } = served();
  const response = await post(handler, call(1, 'Q', { 'longhaul/idempotencyKey': key }));
  expect(await response.text()).toContain('longhaul/idempotencyKey');
  expect(runs.started).toEqual([]);
});
