import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { McpConnection, type McpRequest } from '../../../activities/mcp/mcp-connection.ts';
import { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { mcpServer } from '../../../src/define/mcp.ts';
import { until } from '../../server/testbed/until.ts';
import { MemoryServer } from './memory-server.ts';
import { nameOfTool } from '../../../activities/mcp/read-tool.ts';

const never = new AbortController().signal;
const definition = mcpServer({ name: 'memory', command: 'unused' });

function poolOf(server: MemoryServer): McpPool {
  return new McpPool((_, stop) => McpConnection.open(server.link(), stop));
}

function request(changes: Partial<McpRequest> = {}): McpRequest {
  return { tool: 'say', args: {}, idempotencyKey: 'run/e1/0', signal: never, onProgress: () => undefined, ...changes };
}

async function call(
  pool: McpPool,
  changes: Partial<McpRequest> = {},
  server: McpServerDefinition = definition,
): ReturnType<McpPool['call']> {
  return pool.call(server, request(changes), () => undefined);
}

test('calls share one connection, even those that begin while it is being opened', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const pool = poolOf(server);
  const outcomes = await Promise.all([call(pool), call(pool), call(pool)]);
  expect(outcomes.map(({ type }) => type)).toEqual(['answered', 'answered', 'answered']);
  await call(pool);
  expect(server.connections).toBe(1);
  await pool.close();
});

test('a call carries the idempotency key of the run', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const pool = poolOf(server);
  await call(pool, { args: { text: 'hi' } });
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
  await pool.close();
});

test('after a server has died, the next call opens a new connection', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const pool = poolOf(server);
  await call(pool);
  await server.die();
  expect(await call(pool)).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(2);
  await pool.close();
});

test('a call in flight when the server dies is lost, and not sent again', async () => {
  const server = new MemoryServer([{ name: 'say', answer: () => 'hang' }]);
  const pool = poolOf(server);
  const calling = call(pool);
  await until(() => server.calls.length === 1, 'the call');
  await server.die();
  expect(await calling).toEqual({ type: 'lost', message: 'connection closed' });
  expect(server.calls).toHaveLength(1);
  await pool.close();
});

test('a protocol error is a refusal', async () => {
  const server = new MemoryServer([{ name: 'say', answer: () => 'fail' }]);
  const pool = poolOf(server);
  expect(await call(pool)).toEqual({ type: 'refused', message: 'not here' });
  await pool.close();
});

test('a result that the protocol does not allow is a refusal', async () => {
  const server = new MemoryServer([{ name: 'say', answer: () => ({ content: 'no list' }) }]);
  const pool = poolOf(server);
  expect(await call(pool)).toMatchObject({ type: 'refused', message: expect.stringContaining('invalid result') });
  await pool.close();
});

test('a structured result that does not fit the output schema of the tool is an answer: the tool has acted', async () => {
  const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  const server = new MemoryServer([{ name: 'say', outputSchema, answer: () => ({ content: [], structuredContent: { sum: 'three' } }) }]);
  const pool = poolOf(server);
  expect(await call(pool)).toMatchObject({ type: 'answered', result: { structuredContent: { sum: 'three' } } });
  await pool.close();
});

test('an aborted call rejects with the reason, and the server is told', async () => {
  const server = new MemoryServer([{ name: 'say', answer: () => 'hang' }]);
  const pool = poolOf(server);
  const controller = new AbortController();
  const calling = call(pool, { signal: controller.signal });
  await until(() => server.calls.length === 1, 'the call');
  controller.abort(new Error('cancelled by ann'));
  await expect(calling).rejects.toThrow('cancelled by ann');
  await until(() => server.received.some(({ method }) => method === 'notifications/cancelled'), 'the cancellation');
  await pool.close();
});

test('a caller that stops waiting for a connection does not end it for others', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const gate = Promise.withResolvers<void>();
  const pool = new McpPool(async (_, stop) => {
    await gate.promise;
    return McpConnection.open(server.link(), stop);
  });
  const controller = new AbortController();
  const impatient = call(pool, { signal: controller.signal });
  const patient = call(pool);
  controller.abort(new Error('gone'));
  await expect(impatient).rejects.toThrow('gone');
  gate.resolve();
  expect(await patient).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(1);
  await pool.close();
});

test('an idle connection is closed after its time limit, but not while it is in use', async () => {
  const server = new MemoryServer([{ name: 'say' }, { name: 'wait', answer: () => 'hang' }]);
  const brief = mcpServer({ name: 'memory', command: 'unused', idleTimeout: 20 });
  const pool = poolOf(server);
  const controller = new AbortController();
  const waiting = call(pool, { tool: 'wait', signal: controller.signal }, brief).catch(() => 'aborted');
  await delay(60);
  expect(server.open).toBe(1);
  controller.abort();
  await waiting;
  await until(() => server.open === 0, 'the end of the connection');
  expect(await call(pool, {}, brief)).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(2);
  await pool.close();
});

test('a closed pool has no open connections, and opens none until the worker runs again', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const pool = poolOf(server);
  await call(pool);
  await pool.close();
  expect(server.open).toBe(0);
  await expect(call(pool)).rejects.toMatchObject({ code: 'mcp_unreachable', message: expect.stringContaining('shutting down') });
  pool.start();
  expect(await call(pool)).toMatchObject({ type: 'answered' });
  await pool.close();
});

test('two workers share a pool, which is closed with the second', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const pool = poolOf(server);
  pool.start();
  pool.start();
  await call(pool);
  await pool.close();
  expect(await call(pool)).toMatchObject({ type: 'answered' });
  expect(server.connections).toBe(1);
  await pool.close();
  expect(server.open).toBe(0);
});

test('closing ends a connection that is being opened', async () => {
  const pool = new McpPool((_, stop) => new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason))));
  const calling = call(pool).catch((error: unknown) => error);
  await pool.close();
  expect(await calling).toMatchObject({ message: 'the worker is shutting down' });
});

test('the tools of all pages are listed, anew each time', async () => {
  const server = new MemoryServer(['a', 'b', 'c', 'd', 'e'].map((name) => ({ name })));
  server.pageSize = 2;
  const pool = poolOf(server);
  expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['a', 'b', 'c', 'd', 'e']);
  server.tools = [{ name: 'f' }];
  expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['f']);
  expect(server.connections).toBe(1);
  await pool.close();
});

test('the tools of the server are checked before a call', async () => {
  const server = new MemoryServer([{ name: 'say' }]);
  const pool = poolOf(server);
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
  await pool.close();
});
