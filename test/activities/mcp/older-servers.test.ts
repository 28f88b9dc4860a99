import { afterAll, expect, test } from 'vitest';
import type { McpOutcome } from '../../../activities/mcp/call-outcome.ts';
import type { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import { nameOfTool } from '../../../activities/mcp/read-tool.ts';
import { mcpServer, type McpServerOptions } from '../../../src/define/mcp.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { HANG, OddServer, realPool } from './odd-server.ts';
import { httpServer } from './real-servers.ts';

const pool = realPool();
const never = new AbortController().signal;

afterAll(() => pool.close());

const LISTS = {
  'tools/list': () => ({ tools: [{ name: 'say', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'said' }] }),
};

function definitionOf(url: string, changes: Partial<McpServerOptions> = {}): McpServerDefinition {
  return mcpServer({ name: 'old', url, ...changes });
}

function call(of: McpPool, server: McpServerDefinition): Promise<McpOutcome> {
  const request = { tool: 'say', args: {}, idempotencyKey: 'r/e/0', signal: never, onProgress: () => undefined };
  return of.call(server, request, () => undefined);
}

test.each([400, 404, 405, 406, 415, 501])(
  'a server that answers %i to the present protocol is reached by the one before',
  async (refusal) => {
    await using server = await OddServer.start(LISTS, { form: 'sse', refusal });
    const definition = definitionOf(server.url);
    expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['say']);
    expect(await call(pool, definition)).toMatchObject({ type: 'answered', result: { content: [{ text: 'said' }] } });
    expect([server.streams, server.count('initialize'), server.count('tools/call')]).toEqual([1, 1, 1]);
  },
);

test('server-everything over server-sent events is reached without an option, and again after it was restarted', async () => {
  await using server = await httpServer('sse');
  const definition = definitionOf(server.url);
  const say = (): Promise<McpOutcome> => {
    const request = { tool: 'echo', args: { message: 'hi' }, idempotencyKey: 'r/e/0', signal: never, onProgress: () => undefined };
    return pool.call(definition, request, () => undefined);
  };
  expect((await pool.tools(definition, never)).map(nameOfTool)).toContain('echo');
  expect(await say()).toMatchObject({ type: 'answered', result: { content: [{ text: 'Echo: hi' }] } });
  await server.restart();
  expect(await say()).toMatchObject({ type: 'answered', result: { content: [{ text: 'Echo: hi' }] } });
});

test('a server that is defined with the older protocol is not asked for another', async () => {
  let posts = 0;
  await using server = await OddServer.start(LISTS, {
    form: 'sse',
    http: ({ method, url }) => {
      if (method === 'POST' && url === '/mcp') posts += 1;
      return false;
    },
  });
  expect(await call(pool, definitionOf(server.url, { transport: 'sse' }))).toMatchObject({ type: 'answered' });
  expect(posts).toBe(0);
});

test('a server that is defined with the present protocol is not asked for the older one', async () => {
  await using server = await OddServer.start(LISTS, { form: 'sse', refusal: 404 });
  await expect(pool.tools(definitionOf(server.url, { transport: 'http' }), never)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: 'MCP server "old" cannot be reached: HTTP 404. Check its "url" and "headers"',
  });
  expect(server.streams).toBe(0);
});

test.each([400, 404, 405])('an address without a server of either protocol is an error with the first status, %i', async (status) => {
  await using server = await OddServer.start(LISTS, {
    http: (_, response) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Nothing here</h1>');
      return true;
    },
  });
  await expect(pool.tools(definitionOf(server.url), never)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: `MCP server "old" cannot be reached: HTTP ${status}. Check its "url" and "headers"`,
  });
});

test('a server of the older protocol that refuses the session is an error that names the protocol', async () => {
  await using server = await OddServer.start(
    { initialize: () => ({ error: { code: -32_603, message: 'no room for secret-token' } }) },
    { form: 'sse' },
  );
  await expect(pool.tools(definitionOf(server.url), never)).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message:
      'MCP server "old" cannot be reached: it refuses streamable HTTP, and the connection by the older protocol (HTTP with server-sent events) failed: it refused the connection (-32603). Check its "url" and "headers"',
  });
});

test('a call whose stream is cut is lost, and the next call opens another session', async () => {
  let isCut = false;
  await using server = await OddServer.start(
    {
      ...LISTS,
      'tools/call': () => {
        if (isCut) return { content: [] };
        isCut = true;
        server.cut();
        return HANG;
      },
    },
    { form: 'sse' },
  );
  const definition = definitionOf(server.url);
  expect(await call(pool, definition)).toMatchObject({ type: 'lost' });
  expect(await call(pool, definition)).toMatchObject({ type: 'answered' });
  expect([server.streams, server.count('tools/call')]).toEqual([2, 2]);
});

test('a call that the older protocol refuses with a status is resent on another session, because it was not received', async () => {
  let refused = 0;
  await using server = await OddServer.start(LISTS, {
    form: 'sse',
    http: (_, response, body) => {
      if (!body.includes('tools/call') || refused > 0) return false;
      refused += 1;
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Session not found');
      return true;
    },
  });
  const definition = definitionOf(server.url);
  await pool.tools(definition, never);
  expect(await call(pool, definition)).toMatchObject({ type: 'answered' });
  expect([refused, server.count('tools/call'), server.streams]).toEqual([1, 1, 2]);
});

test.each<[number, string]>([
  [-32_600, 'Session terminated'],
  [-32_001, 'Session not found'],
  [-32_000, 'Session not found'],
  [-32_000, 'Bad Request: Server not initialized'],
  [-32_000, 'Bad Request: No valid session ID provided'],
  [-32_000, 'Bad Request: Mcp-Session-Id header is required'.replace('Mcp-Session-Id header is required', 'Session ID is required')],
  [-32_600, 'Invalid session ID'],
  [-32_600, 'Not Found: Invalid session ID'],
  [-32_600, 'Session has expired'],
  [-32_001, 'session expired.'],
  [-32_600, 'Session not found or expired'],
  [-32_600, 'Invalid or expired session'],
  [-32_001, 'Unknown session'],
  [-32_600, 'Session 6f1c9c2e-1d3b-4c1e-9a59-3f6c1c1d0b7e not found'],
  [-32_000, 'The session has been terminated'],
  [-32_600, 'Missing session ID'],
  [-32_002, 'Server not initialized'],
  [404, 'Session not found'],
  [32_600, 'Session terminated'],
])(
  'a session that the server has lost, by the error %i "%s" in a 200, is opened again, and the call is sent again',
  async (code, message) => {
    let errors = 0;
    await using server = await OddServer.start({
      ...LISTS,
      'tools/call': (_, all) => {
        const sessions = all.filter(({ method }) => method === 'initialize').length;
        if (sessions > 1) return { content: [{ type: 'text', text: 'said' }] };
        errors += 1;
        return { error: { code, message } };
      },
    });
    const definition = definitionOf(server.url);
    await pool.tools(definition, never);
    expect(await call(pool, definition)).toMatchObject({ type: 'answered' });
    expect([errors, server.count('initialize'), server.count('tools/call')]).toEqual([1, 2, 2]);
  },
);

test.each<[number, string]>([
  [-32_603, 'Session not found'],
  [-32_602, 'Session not found'],
  [-32_600, 'Browser session "a" was not found'],
  [-32_000, 'Cannot book: the session in room 4 is not found'],
  [-32_000, 'The payment session has expired after the payment'],
  [-32_001, 'Request timed out'],
  [-32_000, 'Connection closed'],
  [-32_600, 'Invalid Request'],
  [-32_000, 'Too many sessions'],
  [-32_000, 'Session limit reached'],
  [-32_000, 'Session not found; the record was deleted before'],
  [-32_000, 'User session for customer 5 not found'],
  [-32_000, ''],
])('the error %i "%s" of a tool is an answer: the call is not resent', async (code, message) => {
  await using server = await OddServer.start({ ...LISTS, 'tools/call': () => ({ error: { code, message } }) });
  const definition = definitionOf(server.url);
  await pool.tools(definition, never);
  expect(await call(pool, definition)).toMatchObject({ type: 'refused' });
  expect([server.count('initialize'), server.count('tools/call')]).toEqual([1, 1]);
});

test('a server that never has the session is asked twice, and the model reads its error', async () => {
  await using server = await OddServer.start({
    ...LISTS,
    'tools/call': () => ({ error: { code: -32_600, message: 'Session terminated' } }),
  });
  const definition = definitionOf(server.url);
  await pool.tools(definition, never);
  expect(await call(pool, definition)).toMatchObject({ type: 'refused', message: 'Session terminated' });
  expect(server.count('tools/call')).toBe(2);
});

test('a listing whose session the server has lost is repeated in another session', async () => {
  await using server = await OddServer.start({
    'tools/list': (_, all) => {
      const sessions = all.filter(({ method }) => method === 'initialize').length;
      const lists = all.filter(({ method }) => method === 'tools/list').length;
      return sessions === 1 && lists === 2 ? { error: { code: -32_001, message: 'Session not found' } } : LISTS['tools/list']();
    },
  });
  const definition = definitionOf(server.url);
  await pool.tools(definition, never);
  expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['say']);
  expect(server.count('initialize')).toBe(2);
});
