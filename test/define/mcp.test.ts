import { expect, test } from 'vitest';
import { defineAgent } from '../../src/define/define-agent.ts';
import { mcpServer, type McpServerOptions } from '../../src/define/mcp.ts';
import { secret } from '../../src/define/resources.ts';

const stdio = { name: 'files', command: 'mcp-server-filesystem' };
const http = { name: 'crm', url: 'https://crm.example.com/mcp' };

test('a program with the defaults', () => {
  expect(mcpServer({ ...stdio, args: ['/srv'] })).toMatchObject({
    kind: 'longhaul.mcp_server',
    name: 'files',
    transport: { type: 'stdio', command: 'mcp-server-filesystem', args: ['/srv'], env: {} },
    exclude: [],
    policies: { idempotent: { timeoutMs: 60_000, maxAttempts: 3 }, once: { timeoutMs: 60_000, maxAttempts: 1, effect: 'once' } },
    maxResultBytes: 64_000,
    overflow: 'cut',
    idleTimeoutMs: 300_000,
  });
});

test('an address with headers; secrets among them are stored by name', () => {
  const authorization = secret('crm-token', { prefix: 'Bearer ' });
  expect(mcpServer({ ...http, headers: { authorization } }).transport).toEqual({
    type: 'http',
    url: 'https://crm.example.com/mcp',
    headers: { authorization },
  });
});

test('the prefix is the name of the server, or a text', () => {
  expect(mcpServer({ ...http, prefix: true }).prefix).toBe('crm');
  expect(mcpServer({ ...http, prefix: 'c' }).prefix).toBe('c');
  expect(mcpServer(http).prefix).toBeUndefined();
});

test("the effect is one for all tools, one by tool, or follows from the server's hints", () => {
  expect(mcpServer({ ...http, effect: 'once' }).effectOf('any')).toBe('once');
  const byTool = mcpServer({ ...http, effect: (tool) => (tool === 'get' ? 'idempotent' : undefined) });
  expect([byTool.effectOf('get'), byTool.effectOf('put')]).toEqual(['idempotent', undefined]);
  expect(mcpServer(http).effectOf('any')).toBeUndefined();
});

test('if the effect function returns an invalid effect, the error names the tool', () => {
  const server = mcpServer({ ...http, effect: () => 'twice' as 'once' });
  expect(() => server.effectOf('get')).toThrow(
    'MCP server "crm": "effect" of "get" is "twice": write "idempotent", "once", or a function of the tool\'s name',
  );
});

test.each<[string, object, string]>([
  ['no name', { command: 'x' }, 'the "name" of an MCP server is missing'],
  ['a name that no tool can bear', { ...http, name: 'my crm' }, 'MCP server "my crm": a name is 1 to 32 letters'],
  ['no way to it', { name: 'crm' }, 'MCP server "crm" has neither "command" nor "url"'],
  ['two ways to it', { ...stdio, url: 'https://x' }, 'MCP server "files" has both "command" and "url"'],
  ['headers of a program', { ...stdio, headers: {} }, 'MCP server "files" has "command" and "headers", which do not go together'],
  ['variables of an address', { ...http, env: {} }, 'MCP server "crm" has "url" and "env", which do not go together'],
  ['an invalid address', { ...http, url: 'crm' }, 'MCP server "crm": "url" is not an address'],
  ['an address of another kind', { ...http, url: 'file:///etc' }, 'MCP server "crm": "url" begins with "file:"'],
  ['a password in the address', { ...http, url: 'https://a:hunter22@x' }, 'MCP server "crm": "url" holds a password'],
  [
    'a header of the protocol',
    { ...http, headers: { 'Mcp-Session-Id': 'x' } },
    'MCP server "crm": "headers.Mcp-Session-Id" is set by the protocol',
  ],
  ['an invalid header', { ...http, headers: { 'a b': 'x' } }, 'MCP server "crm": "headers" has the name "a b"'],
  ['invalid arguments', { ...stdio, args: [1] }, 'MCP server "files": "args" must be a list of texts'],
  ['an unknown option', { ...http, retries: 1 }, 'MCP server "crm" has an unknown option "retries"'],
  ['no tools', { ...http, tools: { include: [] } }, 'MCP server "crm": "tools.include" is empty'],
  ['tools in no list', { ...http, tools: { exclude: 'put' } }, 'MCP server "crm": "tools.exclude" is "put": write a list of names'],
  ['a tool in and out', { ...http, tools: { include: ['a'], exclude: ['a'] } }, 'MCP server "crm": "tools" includes and excludes "a"'],
  ['no effect', { ...http, effect: 'twice' }, 'MCP server "crm": "effect" is "twice"'],
  ['no approval', { ...http, approval: 'sometimes' }, 'MCP server "crm": "approval" is "sometimes"'],
  ['no prefix', { ...http, prefix: false }, 'MCP server "crm": "prefix" is false'],
  ['attempts below one', { ...http, maxAttempts: 0 }, 'MCP server "crm": "maxAttempts" is 0'],
  ['too many bytes', { ...http, maxResultBytes: 1_000_000 }, 'MCP server "crm": "maxResultBytes" is 1000000'],
])('%s is refused', (_, options, message) => {
  expect(() => mcpServer(options as McpServerOptions)).toThrow(message);
});

test('the message does not contain the refused value', () => {
  const refused = (): unknown => mcpServer({ ...http, headers: { authorization: 'hunter22\nhunter22' } });
  expect(refused).toThrow('MCP server "crm": "headers.authorization" must be one line of text, or secret(\'name\')');
  expect(refused).not.toThrow('hunter22');
});

test('an agent takes servers of different names', () => {
  const agent = { name: 'clerk', model: 'p/m' as const };
  expect(defineAgent({ ...agent, mcp: [mcpServer(stdio), mcpServer(http)] }).mcp).toHaveLength(2);
  expect(() => defineAgent({ ...agent, mcp: [mcpServer(http), mcpServer(http)] })).toThrow(
    'agent "clerk" has two MCP servers named "crm": give each its own name',
  );
  expect(() => defineAgent({ ...agent, mcp: [http as never] })).toThrow(
    'agent "clerk": "mcp" has a value that is not an MCP server: make it with mcpServer',
  );
});

test('tools of servers that settings and limits name are checked when a run starts', () => {
  const named = { settings: { toolChoice: { tool: 'get' } }, limits: { toolCallsByName: { get: 1 } } };
  expect(() => defineAgent({ name: 'clerk', model: 'p/m', mcp: [mcpServer(http)], ...named })).not.toThrow();
  expect(() => defineAgent({ name: 'clerk', model: 'p/m', ...named })).toThrow('names the tool "get"');
});
