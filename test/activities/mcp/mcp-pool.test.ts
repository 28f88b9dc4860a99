import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { McpConnection, type McpRequest } from '../../../activities/mcp/mcp-connection.ts';
import { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { mcpServer } from '../../../src/define/mcp.ts';
import { until } from '../../server/testbed/until.ts';
import { MemoryServer } from './memory-server.ts';
import { nameOfTool } from '../../../activities/mcp/read-tool.ts';

const never = new AbortController().signal;
const definition = mcpServer({ name: 'memory', command: 'unused' });

let pool: McpPool;
afterEach(() => pool.close());

/** A server with these tools, and the pool of the test, which connects to it. */
function serve(...tools: ConstructorParameters<typeof MemoryServer>[0]): MemoryServer {
  const server = new MemoryServer(tools);
  pool = new McpPool((_, stop) => McpConnection.open(server.link(), stop));
  return server;
}

function request(changes: Partial<McpRequest> = {}): McpRequest {
  return { tool: 'say', args: {}, idempotencyKey: 'run/e1/0', signal: never, onProgress: () => undefined, ...changes };
}

async function call(changes: Partial<McpRequest> = {}, server: McpServerDefinition = definition): ReturnType<McpPool['call']> {
  return pool.call(server, request(changes), () => undefined);
}

test('calls share one connection, even those that begin while it is being opened', async () => {
  const server = serve({ name: 'say' });
  const outcomes = await Promise.all([call(), call(), call()]);
  expect(outcomes.map(({ type }) => type)).toEqual(['answered', 'answered', 'answered']);
  await call();
  expect(server.connections).toBe(1);
});

test('a call carries the idempotency key of the run', async () => {
  const server = serve({ name: 'say' });
  await call({ args: { text: 'hi' } });
  expect(server.calls).toEqual([
    {
      method: 'tools/call',
      params: {
        name: 'say',
        arguments: { text: 'hi' },
        _meta: { 'longhaul/idempotencyKey': 'run/e1/0', progressToken: expect.any(Number) },
      },
    },
  ]);
});

test('after a server has died, the next call opens a new connection', async () => {
  const server = serve({ name: 'say' });
  await call();
  await server.die();
  expect(await call()).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(2);
});

test('a call in flight when the server dies is lost, and not resent', async () => {
  const server = serve({ name: 'say', answer: () => 'hang' });
  const calling = call();
  await until(() => server.calls.length === 1, 'the call');
  await server.die();
  expect(await calling).toEqual({ type: 'lost', message: 'connection closed' });
  expect(server.calls).toHaveLength(1);
});

test('a protocol error is a refusal', async () => {
  serve({ name: 'say', answer: () => 'fail' });
  expect(await call()).toEqual({ type: 'refused', message: 'not here' });
});

test('a result that the protocol does not allow is a refusal', async () => {
  serve({ name: 'say', answer: () => ({ content: 'no list' }) });
  expect(await call()).toMatchObject({ type: 'refused', message: expect.stringContaining('invalid result') });
});

test('a structured result that does not fit the output schema of the tool is an answer: the tool has acted', async () => {
  const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  serve({ name: 'say', outputSchema, answer: () => ({ content: [], structuredContent: { sum: 'three' } }) });
  expect(await call()).toMatchObject({ type: 'answered', result: { structuredContent: { sum: 'three' } } });
});

test('an aborted call rejects with the reason, and the server is notified', async () => {
  const server = serve({ name: 'say', answer: () => 'hang' });
  const controller = new AbortController();
  const calling = call({ signal: controller.signal });
  await until(() => server.calls.length === 1, 'the call');
  controller.abort(new Error('cancelled by ann'));
  await expect(calling).rejects.toThrow('cancelled by ann');
  await until(() => server.received.some(({ method }) => method === 'notifications/cancelled'), 'the cancellation');
});

test('a caller that stops waiting for a connection does not end it for others', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const gate = Promise.withResolvers<void>();
  pool = new McpPool(async (_, stop) => {
    await gate.promise;
    return McpConnection.open(server.link(), stop);
  });
  const controller = new AbortController();
  const impatient = call({ signal: controller.signal });
  const patient = call();
  controller.abort(new Error('gone'));
  await expect(impatient).rejects.toThrow('gone');
  gate.resolve();
  expect(await patient).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(1);
});

test('an idle connection is closed after its time limit, but not while it is in use', async () => {
  const server = serve({ name: 'say' }, { name: 'wait', answer: () => 'hang' });
  const brief = mcpServer({ name: 'memory', command: 'unused', idleTimeout: 20 });
  const controller = new AbortController();
  const waiting = call({ tool: 'wait', signal: controller.signal }, brief).catch(() => 'aborted');
  await delay(60);
  expect(server.open).toBe(1);
  controller.abort();
  await waiting;
  await until(() => server.open === 0, 'the end of the connection');
  expect(await call({}, brief)).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(2);
});

test('a closed pool has no open connections, and opens none until the worker runs again', async () => {
  const server = serve({ name: 'say' });
  await call();
  await pool.close();
  expect(server.open).toBe(0);
  await expect(call()).rejects.toMatchObject({ code: 'mcp_unreachable', message: expect.stringContaining('shutting down') });
  pool.start();
  expect(await call()).toMatchObject({ type: 'answered' });
});

test('two workers share a pool, which is closed with the second', async () => {
  const server = serve({ name: 'say' });
  pool.start();
  pool.start();
  await call();
  await pool.close();
  expect(await call()).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(1);
  await pool.close();
  expect(server.open).toBe(0);
});

test('closing ends a connection that is being opened', async () => {
  pool = new McpPool((_, stop) => new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason))));
  const calling = call().catch((error: unknown) => error);
  await pool.close();
  expect(await calling).toMatchObject({ message: 'the worker is shutting down' });
});

test('the tools of all pages are listed again each time', async () => {
  const server = serve(...['a', 'b', 'c', 'd', 'e'].map((name) => ({ name })));
  server.pageSize = 2;
  expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['a', 'b', 'c', 'd', 'e']);
  server.tools = [{ name: 'f' }];
  expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['f']);
  expect(server.connections).toBe(1);
});

test('the tools of the server are checked before a call', async () => {
  const server = serve({ name: 'say' });
  const seen: unknown[][] = [];
  const look = async (): Promise<unknown> =>
    pool.call(definition, request(), (tools) => {
      seen.push(tools.map(nameOfTool));
      return tools.some((one) => nameOfTool(one) === 'say') ? undefined : 'it is gone';
    });
  expect(await look()).toMatchObject({ type: 'answered' });
  expect(await look()).toMatchObject({ type: 'answered' });
  expect(server.received.filter(({ method }) => method === 'tools/list')).toHaveLength(1);
  await server.change([{ name: 'other' }]);
  await delay(10);
  expect(await look()).toEqual({ type: 'refused', message: 'it is gone' });
  expect(server.calls).toHaveLength(2);
});
