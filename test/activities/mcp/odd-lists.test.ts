import { afterAll, expect, test } from 'vitest';
import { listMcpTools, type ListedMcpTools } from '../../../activities/mcp/list-tools.ts';
import { type McpOptions, mcpServer } from '../../../src/define/mcp.ts';
import { OddServer, realPool, type Answers, type Speaking } from './odd-server.ts';

const pool = realPool();
const stop = new AbortController().signal;

afterAll(() => pool.close());

const OK = { name: 'echo', description: 'Echoes', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };

/** The pinned tools of a server with these answers. */
async function listed(
  answers: Answers,
  speaking: Speaking = {},
  options: Partial<McpOptions> = {},
): Promise<ListedMcpTools & { lists: number }> {
  await using server = await OddServer.start(answers, speaking);
  const definition = mcpServer({ name: 'odd', url: server.url, ...options });
  const tools = await listMcpTools({ pool, servers: [definition], taken: new Set(), stop });
  return { ...tools, lists: server.count('tools/list') };
}

/** The names of the tools, and the notices, of a list of tools. */
async function read(tools: unknown[], options: Partial<McpOptions> = {}): Promise<{ names: string[]; notices: string[] }> {
  const { tools: pinned, notices } = await listed({ 'tools/list': () => ({ tools }) }, {}, options);
  return { names: pinned.map(({ name }) => name), notices: notices.map(({ message }) => message.replace('MCP server "odd": ', '')) };
}

const PAGES: [string, (cursor: unknown) => unknown, string[], number][] = [
  ['nextCursor is null', () => ({ tools: [OK], nextCursor: null }), ['echo'], 1],
  ['nextCursor is empty', () => ({ tools: [OK], nextCursor: '' }), ['echo'], 1],
  ['nextCursor is false', () => ({ tools: [OK], nextCursor: false }), ['echo'], 1],
  ['nextCursor is an object', () => ({ tools: [OK], nextCursor: {} }), ['echo'], 1],
  ['nextCursor is a list', () => ({ tools: [OK], nextCursor: [] }), ['echo'], 1],
  ['nextCursor stays the same', () => ({ tools: [OK], nextCursor: 'same' }), ['echo'], 2],
  [
    'nextCursor goes in a circle',
    (cursor) => ({ tools: [{ ...OK, name: `t-${String(cursor)}` }], nextCursor: cursor === 'a' ? 'b' : 'a' }),
    ['t-a', 't-b', 't-undefined'],
    3,
  ],
  [
    'every page is the first one',
    (() => {
      let page = 0;
      return () => ({ tools: [OK], nextCursor: `p${(page += 1)}` });
    })(),
    ['echo'],
    2,
  ],
  [
    'the cursor is a number',
    (cursor) => (cursor === 2 ? { tools: [OK] } : { tools: [{ ...OK, name: 'first' }], nextCursor: 2 }),
    ['echo', 'first'],
    2,
  ],
  [
    'a page is empty',
    (cursor) =>
      cursor === undefined
        ? { tools: [OK], nextCursor: 'a' }
        : cursor === 'a'
          ? { tools: [], nextCursor: 'b' }
          : { tools: [{ ...OK, name: 'z' }] },
    ['echo', 'z'],
    3,
  ],
  ['tools is null', () => ({ tools: null }), [], 1],
  ['tools is missing', () => ({}), [], 1],
  ['the result is the list', () => [OK], ['echo'], 1],
  ['tools are listed by name', () => ({ tools: { echo: { description: 'Echoes', inputSchema: OK.inputSchema } } }), ['echo'], 1],
  [
    'everything optional is null',
    () => ({
      tools: [{ ...OK, title: null, description: null, annotations: null, _meta: null, icons: null, outputSchema: null, execution: null }],
      nextCursor: null,
      _meta: null,
      ttlMs: null,
    }),
    ['echo'],
    1,
  ],
];

test.each(PAGES)('a list where %s is read to its end', async (_, page, names, lists) => {
  const answers = { 'tools/list': ({ params = {} }: { params?: { cursor?: unknown } }) => page(params.cursor) };
  for (const form of ['json', 'stream', 'sse'] as const) {
    if (names.length === 1 && lists === 2 && form !== 'json') continue;
    const { tools, notices, lists: asked } = await listed(answers, { form });
    expect([tools.map(({ name }) => name), notices, asked]).toEqual([names, [], lists]);
  }
});

test.each<[string, unknown, string | undefined]>([
  ['null', null, 'tool "odd" has no input schema: it takes any arguments'],
  ['an empty object', {}, 'tool "odd" has an empty input schema: it takes any arguments'],
  ['an empty list', [], 'tool "odd" has an empty list as input schema: it takes any arguments'],
  ['true', true, 'tool "odd" has the input schema true: it takes any arguments'],
  ['JSON as a text', '{"type":"object"}', 'tool "odd" has its input schema as a text, which is read as JSON'],
  [
    'of two types',
    { type: ['object', 'null'] },
    'tool "odd" has an input schema of the types object, null: it is used as the schema of an object',
  ],
  [
    'without a type',
    { properties: { a: { type: 'string' } } },
    'tool "odd" has an input schema without a type: it is used as the schema of an object',
  ],
  [
    'a reference',
    { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
    'tool "odd" has a reference as input schema: the referenced schema is used',
  ],
  ['a reference to nothing', { $ref: '#/$defs/a' }, 'tool "odd" has an input schema that refers to nothing: it takes any arguments'],
  ['with required: null', { type: 'object', properties: {}, required: null }, undefined],
  ['with properties: null', { type: 'object', properties: null }, undefined],
  ['with properties as an empty list', { type: 'object', properties: [] }, undefined],
  ['with a property that is null', { type: 'object', properties: { a: null } }, undefined],
  ['with the name of a type as property', { type: 'object', properties: { a: 'string' } }, undefined],
  ['with required: true at a property', { type: 'object', properties: { a: { type: 'string', required: true } } }, undefined],
  ['with types in capitals', { type: 'OBJECT', properties: { a: { type: 'STRING' } } }, undefined],
  ['with types of Python', { type: 'dict', properties: { a: { type: 'str' }, b: { type: 'any' } } }, undefined],
  ['with required as a text', { type: 'object', properties: { a: {} }, required: 'a' }, undefined],
  ['with items: null', { type: 'object', properties: { a: { type: 'array', items: null } } }, undefined],
  ['with enum: null', { type: 'object', properties: { a: { type: 'string', enum: null } } }, undefined],
  ['with a pattern that does not compile', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }, undefined],
  ['with a reference that is not a pointer', { type: 'object', properties: { a: { $ref: '#/%zz' } } }, undefined],
  ['that refers to itself', { type: 'object', properties: { a: { $ref: '#' } } }, undefined],
])('a tool with an input schema that is %s can be used', async (_, inputSchema, notice) => {
  const { names, notices } = await read([OK, { name: 'odd', inputSchema }]);
  expect([names, notices]).toEqual([['echo', 'odd'], notice === undefined ? [] : [notice]]);
});

test('a tool without an input schema can be used', async () => {
  expect(await read([OK, { name: 'odd' }])).toEqual({
    names: ['echo', 'odd'],
    notices: ['tool "odd" has no input schema: it takes any arguments'],
  });
});

test.each<[string, unknown, string]>([
  ['a list', [1], 'its input schema is a list instead of an object'],
  ['a number', 5, 'its input schema is the number 5 instead of an object'],
  ['false', false, 'its input schema is the boolean false instead of an object'],
  ['a text', 'object', 'its input schema is a text that is not JSON'],
  ['the JSON of a list as a text', '[]', 'its input schema is a text that is not the JSON of a schema'],
  ['of a text', { type: 'string' }, 'its input schema is of the type "string", and arguments are always an object'],
  ['of a list', { type: 'array', items: {} }, 'its input schema is of the type "array", and arguments are always an object'],
  [
    'of texts and numbers',
    { type: ['string', 'number'] },
    'its input schema is of the types string, number, and arguments are always an object',
  ],
  [
    'a reference to a text',
    { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } },
    'its input schema is of the type "string", and arguments are always an object',
  ],
  ['of null', { type: 'null' }, 'its input schema is of the type "null", and arguments are always an object'],
  ['of a whole number', { type: 'int' }, 'its input schema is of the type "integer", and arguments are always an object'],
  ['of a boolean as a text', '{"type":"boolean"}', 'its input schema is of the type "boolean", and arguments are always an object'],
])('a tool with an input schema that is %s is left out, the rest works, and naming it is an error', async (_, inputSchema, problem) => {
  const tools = [{ name: 'odd', inputSchema }, OK];
  expect(await read(tools)).toEqual({ names: ['echo'], notices: [`tool "odd" is left out: ${problem}`] });
  expect(await read(tools, { tools: { include: ['echo'] } })).toEqual({ names: ['echo'], notices: [] });
  expect(await read(tools, { tools: { exclude: ['odd'] } })).toEqual({ names: ['echo'], notices: [] });
  await expect(read(tools, { tools: { include: ['odd'] } })).rejects.toMatchObject({
    code: 'invalid_agent',
    message: `MCP server "odd" has the tool "odd", which "tools.include" of the agent names, but it cannot be used: ${problem}. Take it out, or correct the server`,
  });
});

test.each<[string, object, string | undefined, boolean]>([
  ['null annotations', { annotations: null }, undefined, false],
  ['a hint that is null', { annotations: { readOnlyHint: null } }, undefined, false],
  [
    'the hint "true"',
    { annotations: { readOnlyHint: 'true' } },
    'has the annotation readOnlyHint with a value that is not true or false: it is ignored',
    false,
  ],
  [
    'the hint 1',
    { annotations: { idempotentHint: 1 } },
    'has the annotation idempotentHint with a value that is not true or false: it is ignored',
    false,
  ],
  [
    'an odd hint next to a good one',
    { annotations: { readOnlyHint: 'yes', idempotentHint: true } },
    'has the annotation readOnlyHint with a value that is not true or false: it is ignored',
    true,
  ],
  ['annotations as a list', { annotations: [] }, 'has annotations that are not an object: they are ignored', false],
  ['annotations as a text', { annotations: 'read-only' }, 'has annotations that are not an object: they are ignored', false],
  ['a description that is a list', { description: ['a'] }, 'has a description that is not a text: its name stands for it', false],
  ['a description that is a number', { description: 5 }, 'has a description that is not a text: its name stands for it', false],
  ['an empty description', { description: '' }, undefined, false],
  ['a title that is a number', { title: 5 }, undefined, false],
  ['icons as a text', { icons: 'https://example.com/a.png' }, undefined, false],
  ['icons that are null', { icons: [null] }, undefined, false],
  ['_meta as a text', { _meta: 'x' }, undefined, false],
  ['an output schema of a list', { outputSchema: { type: 'array', items: {} } }, undefined, false],
  ['an output schema that is a text', { outputSchema: 'x' }, undefined, false],
  ['an output schema that is a list', { outputSchema: [] }, undefined, false],
  ['fields that nobody knows', { execution: 'forbidden', inputExamples: null }, undefined, false],
])('a tool with %s can be used', async (_, changes, change, isRepeatable) => {
  const { tools, notices } = await listed({ 'tools/list': () => ({ tools: [{ ...OK, ...changes }] }) });
  expect(tools).toMatchObject([{ name: 'echo' }]);
  expect(notices.map(({ message }) => message)).toEqual(change === undefined ? [] : [`MCP server "odd": tool "echo" ${change}`]);
  expect(tools[0]?.effect).toBe(isRepeatable ? undefined : 'once');
});

const LONG = 'a'.repeat(300);

test.each<[string, unknown, string[], string[]]>([
  ['null', { ...OK, name: null }, ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['missing', { inputSchema: {} }, ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['a number', { ...OK, name: 5 }, ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['empty', { ...OK, name: '' }, ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['blank', { ...OK, name: ' \n' }, ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['too long', { ...OK, name: LONG }, ['echo'], [`tool "${LONG.slice(0, 100)}…" is left out: its name has 300 characters, over 256`]],
  ['long', { ...OK, name: 'a'.repeat(100) }, [expect.stringMatching(/^odd_a{51}_[0-9a-f]{8}$/) as string, 'echo'], []],
  ['of other characters', { ...OK, name: 'a.b/c d' }, ['a_b_c_d', 'echo'], []],
  ['not well-formed', { ...OK, name: 'a\ud800' }, ['echo'], [expect.stringContaining('its name is not well-formed text') as string]],
  ['doubled, with the same tool', OK, ['echo'], []],
  [
    'doubled, with another tool',
    { ...OK, description: 'Other' },
    ['echo'],
    ['tool "echo" is listed twice, with differences: the first one is used'],
  ],
  ['no name: the tool is null', null, ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['no name: the tool is a text', 'tool', ['echo'], ['the tool at position 2 is left out: it has no name']],
  ['no name: the tool is a list', [OK], ['echo'], ['the tool at position 2 is left out: it has no name']],
])('of a tool whose name is %s, the others are used', async (_, tool, names, notices) => {
  const found = await read([OK, tool]);
  expect(found.names).toEqual(expect.arrayContaining(names));
  expect(found).toEqual({ names: expect.objectContaining({ length: names.length }), notices });
});

test.each<[string, unknown]>([
  [
    'nulls wherever something is optional',
    {
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: null }, prompts: null, resources: null, logging: null, experimental: null },
      serverInfo: { name: 'odd', version: '1', title: null, icons: null },
      instructions: null,
      _meta: null,
    },
  ],
  [
    'capabilities as lists, as PHP writes them',
    { protocolVersion: '2025-06-18', capabilities: { tools: [], logging: [] }, serverInfo: { name: 'odd', version: '1' } },
  ],
  ['tools: true', { protocolVersion: '2025-06-18', capabilities: { tools: true }, serverInfo: { name: 'odd', version: '1' } }],
  ['no declared tools', { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'odd', version: '1' } }],
  ['no capabilities', { protocolVersion: '2025-06-18', capabilities: null, serverInfo: { name: 'odd', version: '1' } }],
  ['a version that is a number', { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: 1 } }],
  [
    'a server without a version',
    { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: null } },
  ],
  ['no server', { protocolVersion: '2025-06-18', capabilities: { tools: {} } }],
  [
    'listChanged as a text',
    { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: 'true' } }, serverInfo: { name: 'odd', version: '1' } },
  ],
  [
    'instructions that are a list',
    { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' }, instructions: ['x'] },
  ],
  [
    'a null error next to it',
    {
      jsonrpc: '2.0',
      error: null,
      result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } },
    },
  ],
  [
    'an unknown field next to it',
    {
      jsonrpc: '2.0',
      method: null,
      extra: 1,
      result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } },
    },
  ],
])('a server that opens the session with %s can be used', async (_, opening) => {
  const { tools } = await listed({ initialize: () => opening, 'tools/list': () => ({ tools: [OK] }) });
  expect(tools.map(({ name }) => name)).toEqual(['echo']);
});

test.each([undefined, 'complete', 'weird', null])(
  'a server of the newest protocol whose list has the result type %s, and nulls, can be used',
  async (resultType) => {
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: null }, prompts: null } };
    const { tools, lists } = await listed({
      'server/discover': () => ({
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        ...discovered,
        instructions: null,
        _meta: null,
      }),
      'tools/list': () => ({ resultType, tools: [{ ...OK, title: null }, { name: 'bare' }], ttlMs: null, _meta: null }),
    });
    expect([tools.map(({ name }) => name), lists]).toEqual([['bare', 'echo'], 1]);
  },
);

test('a server that lists without end is not asked without end', async () => {
  let page = 0;
  const { tools, lists, notices } = await listed({
    'tools/list': () => ({ tools: [{ ...OK, name: `t${(page += 1)}` }], nextCursor: `p${page}` }),
  });
  expect([tools.length, lists]).toEqual([100, 100]);
  expect(notices.map(({ message }) => message)).toEqual([
    'MCP server "odd": the list of tools is too long: those after the first 100 are left out',
  ]);
});

test('a server whose answer lists nothing is an error with its name', async () => {
  await expect(listed({ 'tools/list': () => ({ tools: 'echo' }) })).rejects.toMatchObject({
    code: 'mcp_unreachable',
    message: 'MCP server "odd" does not list its tools. Check that it is healthy and speaks the protocol',
  });
});
