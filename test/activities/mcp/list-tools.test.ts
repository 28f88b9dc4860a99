import type { Tool } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { listMcpTools } from '../../../activities/mcp/list-tools.ts';
import type { McpServerDefinition } from '../../../src/define/tool-definition.ts';
import { mcpServer, type McpServerOptions } from '../../../src/define/mcp.ts';
import type { ToolSnapshot } from '../../../src/core/domain/agent.ts';

const inputSchema = { type: 'object' as const, properties: { id: { type: 'string' } }, required: ['id'] };

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}`, inputSchema, ...more };
}

/** The snapshots of the tools of servers, each with its list. */
async function listed(lists: [server: McpServerDefinition, tools: Tool[]][], taken: string[] = []): Promise<ToolSnapshot[]> {
  const pool = { tools: async (server: McpServerDefinition) => lists.find(([one]) => one === server)?.[1] ?? [] };
  const listing = { pool, servers: lists.map(([server]) => server), taken: new Set(taken), stop: new AbortController().signal };
  return (await listMcpTools(listing)).tools;
}

function crm(options: Partial<McpServerOptions> = {}): McpServerDefinition {
  return mcpServer({ name: 'crm', command: 'unused', ...options });
}

test('a tool is pinned with its schema, its policy and its server', async () => {
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

test('tools are sorted by name, however the servers list them', async () => {
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

test('a read-only or idempotent tool may run again, and every other tool runs once', async () => {
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

test('the effect that the agent declares wins over the hints of the server', async () => {
  const server = crm({ effect: (name) => (name === 'a' ? 'once' : 'idempotent') });
  const tools = await listed([[server, [tool('a', { annotations: { readOnlyHint: true } }), tool('b')]]]);
  expect(tools.map(({ effect }) => effect)).toEqual(['once', undefined]);
});

test('only the included tools are taken', async () => {
  const tools = [tool('get'), tool('put'), tool('delete')];
  const names = async (filter: NonNullable<McpServerOptions['tools']>): Promise<string[]> =>
    (await listed([[crm({ tools: filter }), tools]])).map(({ name }) => name);
  expect(await names({ include: ['get'] })).toEqual(['get']);
  expect(await names({ exclude: ['delete'] })).toEqual(['get', 'put']);
});

test.each([['include'], ['exclude']])('a tool under "%s" that the server lacks keeps the run from starting', async (option) => {
  await expect(listed([[crm({ tools: { [option]: ['delet'] } }), [tool('delete')]]])).rejects.toMatchObject({
    code: 'invalid_agent',
    message: 'MCP server "crm" has no tool "delet", which "tools" of the agent names (it has: delete). Correct the name, or take it out',
  });
});

test("a tool whose name the agent already has gets the server's name as a prefix", async () => {
  const tools = await listed([[crm(), [tool('search')]]], ['search']);
  expect(tools).toMatchObject([{ name: 'crm_search', mcp: { server: 'crm', tool: 'search' } }]);
});

test('a tool that is listed twice is taken once', async () => {
  expect(await listed([[crm(), [tool('get', { description: 'The first' }), tool('get')]]])).toMatchObject([{ description: 'The first' }]);
});

test('a tool without a description has its title or its name as description', async () => {
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

test('the callers of a tool are pinned if its server is defined with any', async () => {
  const server = crm({ callers: (name) => (name === 'erase' ? ['model'] : undefined) });
  const tools = await listed([[server, [tool('erase'), tool('get')]]]);
  expect(tools.map(({ name, callers }) => [name, callers])).toEqual([
    ['erase', ['model']],
    ['get', undefined],
  ]);
});
