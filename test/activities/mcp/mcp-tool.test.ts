import type { Tool } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import type { McpOutcome } from '../../../activities/mcp/call-outcome.ts';
import { type McpContent, mcpToolDefinition, type PinnedTool, resultContent } from '../../../activities/mcp/mcp-tool.ts';
import type { McpRequest } from '../../../activities/mcp/mcp-connection.ts';
import type { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import { UnknownOutcome } from '../../../activities/tool-calls/execute-tool.ts';
import { mcpServer, type McpServerOptions } from '../../../src/define/mcp.ts';
import { isToolFailure } from '../../../src/define/tool-definition.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { fakeContext } from '../../fakes/run-context.ts';

const tools: Tool[] = [{ name: 'deals/get', inputSchema: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] } }];

/** A pool with a server that has these tools and gives these answers. */
function poolOf(outcome: McpOutcome, current = tools): { pool: Pick<McpPool, 'call'>; requests: McpRequest[] } {
  const requests: McpRequest[] = [];
  const call: McpPool['call'] = async (_, request, check) => {
    const problem = check(current);
    if (problem !== undefined) return { type: 'refused', message: problem };
    requests.push(request);
    return outcome;
  };
  return { pool: { call }, requests };
}

const server = mcpServer({ name: 'crm', command: 'unused' });
const pinned: PinnedTool = { name: 'deals_get', tool: 'deals/get', once: false };
const DONE: McpOutcome = { type: 'answered', result: { content: [{ type: 'text', text: 'done' }] } };

async function execute(
  outcome: McpOutcome,
  { args = { id: 1 }, current = tools, once = false }: { args?: JsonObject; current?: Tool[]; once?: boolean } = {},
): Promise<unknown> {
  const { pool } = poolOf(outcome, current);
  return mcpToolDefinition(pool, server, { ...pinned, once }).execute(args as never, fakeContext() as never);
}

test("a call goes to the tool under the server's name for it, with the key and the signal of the call", async () => {
  const { pool, requests } = poolOf(DONE);
  const context = fakeContext();
  const result = await mcpToolDefinition(pool, server, pinned).execute({ id: 1 } as never, context as never);
  expect(result).toMatchObject({ kind: 'longhaul.tool_output', content: ['done'], isError: false });
  expect(requests).toMatchObject([{ tool: 'deals/get', args: { id: 1 }, idempotencyKey: context.idempotencyKey, signal: context.signal }]);
});

test('progress becomes a heartbeat of bounded length, and data for readers', async () => {
  const { pool, requests } = poolOf(DONE);
  const heartbeats: unknown[] = [];
  const emitted: unknown[] = [];
  const emit = (...given: unknown[]): void => void emitted.push(given);
  const context = { ...fakeContext(), emit, heartbeat: (details: unknown) => heartbeats.push(details) };
  await mcpToolDefinition(pool, server, pinned).execute({ id: 1 } as never, context as never);
  requests[0]?.onProgress({ progress: 1, total: 4, message: 'x'.repeat(1_000) });
  expect(heartbeats).toEqual([{ progress: 1, total: 4, message: 'x'.repeat(500) }]);
  expect(emitted).toEqual([['progress', heartbeats[0]]]);
});

test('a refusal of the server is a failure that is not retried', async () => {
  const failing = execute({ type: 'refused', message: 'no such deal' });
  await expect(failing).rejects.toThrow('no such deal');
  await expect(failing).rejects.toSatisfy(isToolFailure);
});

test('a call of a removed tool fails with an error that says so', async () => {
  await expect(execute(DONE, { current: [] })).rejects.toThrow(
    'MCP server "crm" has no tool "deals/get" any more: it was removed since this run began',
  );
});

test('a call whose arguments a changed tool no longer accepts fails with an error that says so', async () => {
  const current: Tool[] = [
    { name: 'deals/get', inputSchema: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } },
  ];
  await expect(execute(DONE, { current })).rejects.toThrow(
    'MCP server "crm" has changed the arguments of "deals/get" since this run began, and these do not fit: missing required field "key"',
  );
});

test('a changed tool that accepts the arguments is called', async () => {
  const current: Tool[] = [
    { name: 'deals/get', description: 'Another', inputSchema: { type: 'object', properties: { id: {}, more: { type: 'string' } } } },
  ];
  expect(await execute(DONE, { current })).toMatchObject({ content: ['done'] });
});

test('a call that was not sent is an ordinary failure, even with effect `once`', async () => {
  for (const once of [false, true]) {
    const failing = execute({ type: 'not_sent', message: 'HTTP 429' }, { once });
    await expect(failing).rejects.toThrow('MCP server "crm" did not get the call: HTTP 429');
    await expect(failing).rejects.not.toBeInstanceOf(UnknownOutcome);
  }
});

test('a lost call may be retried; with effect `once`, its outcome is unknown', async () => {
  const lost: McpOutcome = { type: 'lost', message: 'connection closed' };
  await expect(execute(lost)).rejects.not.toBeInstanceOf(UnknownOutcome);
  await expect(execute(lost, { once: true })).rejects.toBeInstanceOf(UnknownOutcome);
});

test('an approval predicate of the server gets the tool and the arguments', async () => {
  const options: McpServerOptions = {
    name: 'crm',
    command: 'unused',
    approval: { when: ({ tool, args }) => tool === 'deals/get' && args['id'] === 1, deadline: '1h' },
  };
  const { approval } = mcpToolDefinition(poolOf(DONE).pool, mcpServer(options), pinned);
  const when = approval?.when;
  expect(approval).toMatchObject({ deadlineMs: 3_600_000 });
  if (typeof when !== 'function') throw new Error('no predicate');
  expect([when({ id: 1 } as never, {} as never), when({ id: 2 } as never, {} as never)]).toEqual([true, false]);
});

function converted(result: unknown): McpContent {
  return resultContent(result);
}

test('several texts become one text', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ];
  expect(converted({ content })).toEqual({ content: ['one\ntwo'], isError: false });
});

test('a result without content stays empty', () => {
  expect(converted({ content: [] })).toEqual({ content: [], isError: false });
});

test('a result that the server marks as an error is an error', () => {
  expect(converted({ content: [{ type: 'text', text: 'no such file' }], isError: true })).toEqual({
    content: ['no such file'],
    isError: true,
  });
});

test('images and audio become parts, after the text', () => {
  const content = [
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    { type: 'text', text: 'a picture' },
    { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
  ];
  expect(converted({ content }).content).toEqual([
    'a picture',
    { type: 'image', data: 'aGk=', mediaType: 'image/png' },
    { type: 'audio', data: 'aGk=', mediaType: 'audio/wav' },
  ]);
});

test('a resource becomes its text, or a file', () => {
  const content = [
    { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///dir/b.zip', mimeType: 'application/zip', blob: 'aGk=' } },
    { type: 'resource', resource: { uri: 'file:///c.png', mimeType: 'image/png', blob: 'aGk=' } },
  ];
  expect(converted({ content }).content).toEqual([
    '[Resource file:///a.txt]\ninside',
    { type: 'file', name: 'b.zip', data: 'aGk=', mediaType: 'application/zip' },
    { type: 'image', data: 'aGk=', mediaType: 'image/png' },
  ]);
});

test('a link to a resource becomes a text, so that no provider follows it', () => {
  const content = [
    { type: 'resource_link', name: 'notes', uri: 'https://example.com/notes', mimeType: 'text/plain', description: 'Of today' },
  ];
  expect(converted({ content }).content).toEqual(['[Resource "notes" at https://example.com/notes (text/plain: Of today)]']);
});

test('structured content is the value, and its text form is dropped', () => {
  const structuredContent = { sum: 3, parts: ['a'] };
  expect(converted({ content: [], structuredContent }).content).toEqual([structuredContent]);
  expect(converted({ content: [{ type: 'text', text: '{"sum": 3, "parts": ["a"]}' }], structuredContent }).content).toEqual([
    structuredContent,
  ]);
});

test('structured content that looks like an image part is not taken for an image', () => {
  const structuredContent = { type: 'image', url: 'https://example.com/track.png' };
  expect(converted({ content: [], structuredContent }).content).toEqual([{ structuredContent }]);
});

test('a text that structured content only wraps is kept as text', () => {
  expect(converted({ content: [{ type: 'text', text: 'line\nline' }], structuredContent: { content: 'line\nline' } }).content).toEqual([
    'line\nline',
  ]);
});

test('text and structured content that differ become one value', () => {
  const content = [{ type: 'text', text: 'It is warm.' }];
  expect(converted({ content, structuredContent: { celsius: 30 } }).content).toEqual([
    { text: 'It is warm.', structuredContent: { celsius: 30 } },
  ]);
});

test('lone surrogates are replaced', () => {
  expect(converted({ content: [{ type: 'text', text: 'a\ud800b' }] }).content).toEqual(['a\ufffdb']);
});

/** An image of one pixel. */
const PNG = 'iVBORw0KGgo=';

test.each<[string, unknown, unknown[]]>([
  ['an unknown type with a text', { type: 'hologram', text: 'seen' }, ['seen']],
  ['an unknown type without one', { type: 'hologram', size: 3 }, ['{"type":"hologram","size":3}']],
  ['an unknown type with much data', { type: 'hologram', data: 'x'.repeat(9_000) }, ['{"type":"hologram","data":"[9000 characters]"}']],
  ['no type and a text', { text: 'plain' }, ['plain']],
  ['a text part whose text is a number', { type: 'text', text: 7 }, ['7']],
  ['a text part whose text is an object', { type: 'text', text: { a: 1 } }, ['{"a":1}']],
  ['a text part whose text is null', { type: 'text', text: null }, ['[The tool has acted, but its result has no content]']],
  ['null', null, ['[The tool has acted, but its result has no content]']],
  ['a text', 'bare', ['bare']],
  ['a number', 5, ['5']],
  [
    'an image as a data URL',
    { type: 'image', data: `data:image/png;base64,${PNG}`, mimeType: null },
    [{ type: 'image', data: PNG, mediaType: 'image/png' }],
  ],
  [
    'an image with line breaks',
    { type: 'image', data: 'iVBO\r\nRw0K\nGgo=', mimeType: 'image/png' },
    [{ type: 'image', data: PNG, mediaType: 'image/png' }],
  ],
  [
    'an image without padding',
    { type: 'image', data: 'iVBORw0KGgo', mimeType: 'image/png' },
    [{ type: 'image', data: PNG, mediaType: 'image/png' }],
  ],
  [
    'an image in the alphabet of URLs',
    { type: 'image', data: '_-A=', mimeType: 'image/png' },
    [{ type: 'image', data: '/+A=', mediaType: 'image/png' }],
  ],
  ['an image whose type is null', { type: 'image', data: PNG, mimeType: null }, [{ type: 'image', data: PNG }]],
  [
    'an image of another format',
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
    [{ type: 'image', data: PNG, mediaType: 'image/png' }],
  ],
  ['an image by its address', { type: 'image', url: 'https://example.com/a.png' }, ['[Image at https://example.com/a.png]']],
  [
    'an image_url',
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    [{ type: 'image', data: PNG, mediaType: 'image/png' }],
  ],
  [
    'an image that is not base64',
    { type: 'image', data: '<script>', mimeType: 'image/png' },
    [expect.stringContaining('an image of its result cannot be read: its data is not base64')],
  ],
  ['an image without data', { type: 'image', mimeType: 'image/png' }, [expect.stringContaining('an image of its result has no data')]],
  [
    'audio that is not base64',
    { type: 'audio', data: '!', mimeType: 'audio/wav' },
    [expect.stringContaining('a recording of its result cannot be read')],
  ],
  ['a resource without an address', { type: 'resource', resource: { text: 'x' } }, ['[Resource]\nx']],
  ['a resource without content', { type: 'resource', resource: { uri: 'a://b', text: null } }, ['[Resource a://b]']],
  ['a resource outside its field', { type: 'resource', uri: 'a://b', text: 'x' }, ['[Resource a://b]\nx']],
  ['a resource that is null', { type: 'resource', resource: null }, ['[Resource]']],
  [
    'a resource with a data URL',
    { type: 'resource', resource: { uri: 'a://b.png', blob: `data:image/png;base64,${PNG}` } },
    [{ type: 'image', data: PNG, mediaType: 'image/png' }],
  ],
  [
    'a resource that is not base64',
    { type: 'resource', resource: { uri: 'a://b', blob: '?' } },
    [expect.stringContaining('the resource a://b of its result cannot be read')],
  ],
  ['a link without a name', { type: 'resource_link', uri: 'a://b' }, ['[Resource a://b]']],
  ['a link without an address', { type: 'resource_link', name: 'b', description: null }, ['[Resource "b"]']],
])('of a part with %s, the model reads what can be read', (_, part, content) => {
  expect(converted({ content: [part] })).toEqual({ content, isError: false });
});

test.each<[string, unknown, unknown[], boolean?]>([
  ['null', null, [expect.stringContaining('has acted')]],
  ['a text', 'done', ['done']],
  ['a number', 4, ['4']],
  ['a list of parts', [{ type: 'text', text: 'a' }], ['a']],
  ['no content', {}, [expect.stringContaining('has acted')]],
  ['content that is null', { content: null }, [expect.stringContaining('has acted')]],
  ['content that is a text', { content: 'done' }, ['done']],
  ['content that is one part', { content: { type: 'text', text: 'done' } }, ['done']],
  ['content that is an object', { content: { id: 7 } }, ['{"id":7}']],
  ['custom fields', { id: 7, _meta: {} }, [{ id: 7 }]],
  ['the field of an old server', { toolResult: { id: 7 } }, [{ id: 7 }]],
  ['structured content alone', { structuredContent: { id: 7 }, content: null }, [{ id: 7 }]],
  ['structured content that is a list', { content: [], structuredContent: [1] }, [[1]]],
  ['structured content that is null', { content: [{ type: 'text', text: 'a' }], structuredContent: null }, ['a']],
  ['isError as a text', { content: 'no', isError: 'true' }, ['no'], true],
  ['isError as the text false', { content: 'yes', isError: 'false' }, ['yes']],
  ['isError as null', { content: 'yes', isError: null }, ['yes']],
  ['isError and nothing else', { isError: true }, [expect.stringContaining('no content')], true],
])('a result that is %s is read, and is an error only if the server says so', (_, result, content, isError = false) => {
  expect(converted(result)).toEqual({ content, isError });
});

test('readable parts are kept if other parts cannot be read, and media come last', () => {
  const content = [{ type: 'image', data: '?' }, { type: 'text', text: 'a' }, null, { type: 'image', data: PNG, mimeType: 'image/png' }];
  expect(converted({ content })).toEqual({
    content: [
      'a\n[The tool has acted, but an image of its result cannot be read: its data is not base64]',
      { type: 'image', data: PNG, mediaType: 'image/png' },
    ],
    isError: false,
  });
});

test('structured content that breaks the schema of the tool is delivered, with a note', () => {
  const schema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  expect(resultContent({ content: [], structuredContent: { sum: 'three' } }, schema)).toEqual({
    content: [
      {
        result: { sum: 'three' },
        note: '[The tool has acted, but the structured content does not fit the output schema of the tool: sum: expected number, got string]',
      },
    ],
    isError: false,
  });
  expect(resultContent({ content: [], structuredContent: { sum: 3 } }, schema).content).toEqual([{ sum: 3 }]);
  expect(resultContent({ content: [{ type: 'text', text: 'three' }] }, schema).content).toEqual(['three']);
});

test.each<[what: string, value: unknown, property: JsonObject | undefined, problem: string]>([
  ['a missing field', {}, undefined, 'missing required field "a"'],
  ['a null', { a: null }, { type: 'number' }, 'a: expected number, got null'],
  ['a text for a number', { a: '1' }, { type: 'number' }, 'a: expected number, got string'],
  ['a fraction', { a: 1.5 }, { type: 'integer' }, 'a: expected integer, got 1.5'],
  ['an object for a list', { a: {} }, { type: 'array' }, 'a: expected array, got object'],
  ['a list for an object', { a: [] }, { type: 'object' }, 'a: expected object, got array'],
  ['a list itself', [{ a: 1 }], {}, 'expected object, got array'],
  ['a text itself', 'a', {}, 'expected object, got string'],
  ['a value that is not listed', { a: 'c' }, { enum: ['a', 'b'] }, 'a: '],
  ['another fixed value', { a: 'c' }, { const: 'a' }, 'a: '],
  ['no matching alternative', { a: 1 }, { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'a: '],
  ['a wrong item of a list', { a: [1, 'x'] }, { type: 'array', items: { type: 'number' } }, 'a[1]: expected number, got string'],
  ['a field too many', { a: { b: 1 } }, { type: 'object', properties: {}, additionalProperties: false }, 'a: '],
])('structured content with %s reaches the model, which reads that the tool has acted', (_, value, property, problem) => {
  const schema = { type: 'object', properties: property === undefined ? {} : { a: property }, required: ['a'] };
  const { content, isError } = resultContent({ content: [{ type: 'text', text: 'done' }], structuredContent: value }, schema);
  const read = JSON.stringify(content);
  expect(isError).toBe(false);
  expect(read).toContain('done');
  expect(read).toContain(JSON.stringify(value));
  expect(read).toContain('The tool has acted, but the structured content does not fit the output schema of the tool: ');
  expect(read).toContain(JSON.stringify(problem).slice(1, -1));
});

test('of a result that is nested too deep, the rest is read', () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 200; depth += 1) value = [value];
  expect(converted({ content: [{ type: 'text', text: 'a' }], structuredContent: { value } })).toEqual({
    content: ['a\n[The tool has acted, but "structuredContent" of its result is nested too deep to be read]'],
    isError: false,
  });
  expect(converted(value)).toEqual({ content: [expect.stringContaining('nested too deep')], isError: false });
});
