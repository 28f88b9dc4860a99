import type { Tool } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { listMcpTools } from '../../../activities/mcp/list-tools.ts';
import type { McpServerDefinition } from '../../../src/define/mcp/mcp-definition.ts';
import { mcpServer, type McpServerOptions } from '../../../src/define/mcp/mcp-server.ts';
import type { ToolSnapshot } from '../../../src/core/domain/agent/agent-snapshot.ts';

const inputSchema = { type: 'object' as const, properties: { id: { type: 'string' } }, required: ['id'] };

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}`, inputSchema, ...more };
}

/** The snapshots of the tools of servers, each with its list. */
function listed(lists: [server: McpServerDefinition, tools: Tool[]][], taken: string[] = []): Promise<ToolSnapshot[]> {
  const pool = { tools: async (server: McpServerDefinition) => lists.find(([one]) => one === server)?.[1] ?? [] };
  return listMcpTools({ pool, servers: lists.map(([server]) => server), taken: new Set(taken), stop: new AbortController().signal });
}

function crm(options: Partial<McpServerOptions> = {}): McpServerDefinition {
  return mcpServer({ name: 'crm', command: 'unused', ...options });
}

test('a tool is pinned with its schema, its policy, and where it is from', async () => {
  const server = crm({ timeout: '5s', maxAttempts: 2, maxResultBytes: 9_000, approval: { when: 'always', deadline: '1h' } });
  expect(await listed([[server, [tool('deals.get', { annotations: { readOnlyHint: true } })]]])).toEqual([
    {
      name: 'deals_get',
      description: 'Does deals.get',
      parameters: { ...inputSchema, additionalProperties: false },
      strict: true,
      schema: inputSchema,
      parallel: true,
      timeoutMs: 5_000,
      maxAttempts: 2,
      maxResultBytes: 9_000,
      approval: { when: 'always', deadlineMs: 3_600_000 },
      mcp: { server: 'crm', tool: 'deals.get' },
    },
  ]);
});

test('the order is that of the names, however the servers list them', async () => {
  const [a, b] = [crm(), mcpServer({ name: 'files', command: 'unused' })];
  const names = (tools: ToolSnapshot[]): string[] => tools.map(({ name }) => name);
  expect(
    names(
      await listed([
        [a, [tool('c'), tool('a')]],
        [b, [tool('b')]],
      ]),
    ),
  ).toEqual(['a', 'b', 'c']);
  expect(
    names(
      await listed([
        [b, [tool('b')]],
        [a, [tool('a'), tool('c')]],
      ]),
    ),
  ).toEqual(['a', 'b', 'c']);
});

test('what only reads or may be repeated may run again, and everything else happens once', async () => {
  const tools = await listed([
    [
      crm(),
      [
        tool('a-reads', { annotations: { readOnlyHint: true } }),
        tool('b-repeats', { annotations: { idempotentHint: true } }),
        tool('c-writes', { annotations: { readOnlyHint: false, idempotentHint: false } }),
        tool('d-says-nothing'),
      ],
    ],
  ]);
  expect(tools.map(({ effect, maxAttempts }) => [effect, maxAttempts])).toEqual([
    [undefined, 3],
    [undefined, 3],
    ['once', 1],
    ['once', 1],
  ]);
});

test('the effect that the agent gives comes before what the server says', async () => {
  const server = crm({ effect: (name) => (name === 'a' ? 'once' : 'idempotent') });
  const tools = await listed([[server, [tool('a', { annotations: { readOnlyHint: true } }), tool('b')]]]);
  expect(tools.map(({ effect }) => effect)).toEqual(['once', undefined]);
});

test('only the tools that are wanted are taken', async () => {
  const tools = [tool('get'), tool('put'), tool('delete')];
  const names = async (filter: NonNullable<McpServerOptions['tools']>): Promise<string[]> =>
    (await listed([[crm({ tools: filter }), tools]])).map(({ name }) => name);
  expect(await names({ include: ['get'] })).toEqual(['get']);
  expect(await names({ exclude: ['delete'] })).toEqual(['get', 'put']);
});

test.each([['include'], ['exclude']])('a tool under "%s" that the server does not have keeps the run from starting', async (option) => {
  await expect(listed([[crm({ tools: { [option]: ['delet'] } }), [tool('delete')]]])).rejects.toMatchObject({
    code: 'invalid_agent',
    message: 'MCP server "crm" has no tool "delet", which "tools" of the agent names (it has: delete). Correct the name, or take it out',
  });
});

test('a name that the agent has gets the name of the server in front', async () => {
  const tools = await listed([[crm(), [tool('search')]]], ['search']);
  expect(tools).toMatchObject([{ name: 'crm_search', mcp: { server: 'crm', tool: 'search' } }]);
});

test('a tool that is listed twice is there once', async () => {
  expect(await listed([[crm(), [tool('get', { description: 'The first' }), tool('get')]]])).toMatchObject([{ description: 'The first' }]);
});

test('a tool without a description has its title or its name', async () => {
  const { description: _, ...bare } = tool('a');
  expect(
    await listed([
      [
        crm(),
        [
          { ...bare, title: 'A title' },
          { ...bare, name: 'b' },
        ],
      ],
    ]),
  ).toMatchObject([{ description: 'A title' }, { description: 'b' }]);
});
