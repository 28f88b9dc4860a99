import { afterAll, expect, test } from 'vitest';
import type { McpOutcome } from '../../../activities/mcp/call-outcome.ts';
import { MAX_MESSAGE_BYTES, MessageText } from '../../../activities/mcp/message-text.ts';
import { nameOfTool } from '../../../activities/mcp/read-tool.ts';
import { mcpServer } from '../../../src/define/mcp.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { OddServer, realPool } from './odd-server.ts';

const pool = realPool();
const never = new AbortController().signal;
afterAll(() => pool.close());

const LARGE = 'x'.repeat(MAX_MESSAGE_BYTES);
const NOTE =
  '[The tool has acted, but its answer cannot be read: it has more than 10 MB, the most that one message of an MCP server may have. Ask for less]';

function call(server: McpServerDefinition, tool: string): Promise<McpOutcome> {
  return pool.call(server, { tool, args: {}, idempotencyKey: 'r/e/0', signal: never, onProgress: () => undefined }, () => undefined);
}

/** A server in a process: `slow` answers after the other call. Each answer is written by `messageOf`, an expression of `id` and `result`. */
function processServer(messageOf: string): McpServerDefinition {
  const program = `
    const write = (id, result) => process.stdout.write(${messageOf} + '\\n');
    const text = (text) => ({ content: [{ type: 'text', text }] });
    let slow;
    require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      if (method === 'initialize')
        write(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'p', version: String(process.pid) } });
      else if (method === 'tools/list') write(id, { tools: ['slow', 'large', 'pid'].map((name) => ({ name, inputSchema: { type: 'object' } })) });
      else if (method !== 'tools/call') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }) + '\\n');
      else if (params.name === 'slow') slow = id;
      else if (params.name === 'pid') write(id, text(String(process.pid)));
      else {
        process.stdout.write(JSON.stringify({ method: 'notifications/message', params: { data: 'x'.repeat(11e6) }, jsonrpc: '2.0' }) + '\\n');
        write(id, text('x'.repeat(11e6)));
        if (slow !== undefined) write(slow, text('slowly'));
      }
    });`;
  return mcpServer({ name: 'large', command: process.execPath, args: ['-e', program] });
}

test.each([
  ['before its result', "JSON.stringify({ jsonrpc: '2.0', id, result })"],
  ['after its result', "JSON.stringify({ result, jsonrpc: '2.0', id })"],
  ['at the end of its result', "JSON.stringify({ result, id, jsonrpc: '2.0' })"],
  ['as text', "JSON.stringify({ id: String(id), jsonrpc: '2.0', result })"],
])('an answer of a process that is too large ends its own call, and no other: with the id %s', async (_, messageOf) => {
  const server = processServer(messageOf);
  const before = await call(server, 'pid');
  const slow = call(server, 'slow');
  expect(await call(server, 'large')).toEqual({ type: 'answered', result: { content: NOTE } });
  expect(await slow).toMatchObject({ type: 'answered', result: { content: [{ text: 'slowly' }] } });
  expect(await call(server, 'pid')).toEqual(before);
});

test.each(['json', 'stream', 'sse'] as const)('an answer over HTTP that is too large is the end of its call: %s', async (form) => {
  await using server = await OddServer.start(
    {
      'tools/list': () => ({ tools: [{ name: 'say', inputSchema: { type: 'object' } }] }),
      'tools/call': ({ params }) => ({ content: [{ type: 'text', text: params.name === 'large' ? LARGE : 'said' }] }),
    },
    { form },
  );
  const definition = mcpServer({ name: 'large', url: server.url });
  expect(await call(definition, 'large')).toEqual({ type: 'answered', result: { content: NOTE } });
  expect(await call(definition, 'say')).toMatchObject({ type: 'answered', result: { content: [{ text: 'said' }] } });
  expect([server.count('tools/call'), server.count('initialize')]).toEqual([2, 1]);
});

test('a list of tools that is too large is an error with the bound', async () => {
  const tool = { name: 'say', description: LARGE, inputSchema: { type: 'object' } };
  await using server = await OddServer.start({ 'tools/list': () => ({ tools: [tool] }) });
  await expect(pool.tools(mcpServer({ name: 'large', url: server.url }), never)).rejects.toThrow(
    'MCP server "large" lists its tools in a message of more than 10 MB, the most that one may have. Let it list fewer tools, or list them on pages',
  );
});

test.each(['json', 'stream', 'sse'] as const)(
  'an answer to the first request that is too large is an error with the bound: %s',
  async (form) => {
    const greeting = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'p', version: '1' }, instructions: LARGE };
    await using server = await OddServer.start({ initialize: () => greeting }, { form });
    const failure = await pool.tools(mcpServer({ name: 'large', url: server.url }), never).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'mcp_unreachable',
      message:
        'MCP server "large" cannot be reached: it answers "initialize" with a message of more than 10 MB, the most that one may have. Let it have shorter instructions and fewer capabilities',
      // Each attempt is logged: with a stack, it would take many lines.
      stack: '',
    });
  },
);

test('an answer that is as large as possible arrives whole', async () => {
  const text = 'y'.repeat(MAX_MESSAGE_BYTES - 200);
  await using server = await OddServer.start(
    {
      'tools/list': () => ({ tools: [{ name: 'say', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text }] }),
    },
    { form: 'stream' },
  );
  const definition = mcpServer({ name: 'large', url: server.url });
  expect((await pool.tools(definition, never)).map(nameOfTool)).toEqual(['say']);
  expect(await call(definition, 'say')).toEqual({ type: 'answered', result: { content: [{ type: 'text', text }] } });
});

test('a message that is too large and does not say what it answers is an error', () => {
  const message = new MessageText();
  message.add(`[{"jsonrpc":"2.0","result":"${LARGE}"}]`);
  expect(() => message.take()).toThrow('a message of more than 10000000 bytes');
});

test.each([
  ['a text of its result', `{"jsonrpc":"2.0","result":"${LARGE},\\"id\\":7}"}`],
  ['a member of its result', `{"jsonrpc":"2.0","result":{"a":"${LARGE}","id":7}}`],
])('the id of a message that is too large is not read from %s', (_, text) => {
  const message = new MessageText();
  message.add(text);
  expect(() => message.take()).toThrow('a message of more than');
});
