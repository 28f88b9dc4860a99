import { expect, test } from 'vitest';
import { nameTools, type UnnamedTool } from '../../../activities/mcp/list-tools.ts';

function names(tools: UnnamedTool[], taken: string[] = []): string[] {
  return nameTools(tools, new Set(taken));
}

test('a tool keeps the name that its server gives it', () => {
  expect(
    names([
      { server: 'files', tool: 'read_file' },
      { server: 'files', tool: 'get-sum' },
    ]),
  ).toEqual(['read_file', 'get-sum']);
});

test("a tool whose name the agent already has gets the server's name as a prefix", () => {
  expect(names([{ server: 'files', tool: 'search' }], ['search'])).toEqual(['files_search']);
});

test('the same tool of two servers gets a prefix on both, in either order', () => {
  const [a, b] = [
    { server: 'a', tool: 'search' },
    { server: 'b', tool: 'search' },
  ];
  expect(names([a, b])).toEqual(['a_search', 'b_search']);
  expect(names([b, a])).toEqual(['b_search', 'a_search']);
});

test('a configured prefix is put before every name', () => {
  expect(names([{ server: 'files', tool: 'read', prefix: 'fs' }])).toEqual(['fs_read']);
});

test('characters that providers refuse become underscores', () => {
  expect(names([{ server: 'crm', tool: 'deals/list all.v2' }])).toEqual(['deals_list_all_v2']);
});

test('tools whose names would become equal get a hash as a suffix, distinct and stable', () => {
  const tools = [
    { server: 'crm', tool: 'a.b' },
    { server: 'crm', tool: 'a/b' },
  ];
  const given = names(tools);
  expect(given).toEqual([expect.stringMatching(/^crm_a_b_[0-9a-f]{8}$/), expect.stringMatching(/^crm_a_b_[0-9a-f]{8}$/)]);
  expect(given[0]).not.toBe(given[1]);
  expect(names(tools.toReversed())).toEqual(given.toReversed());
});

test('a name that is too long is cut, and stays unique', () => {
  const tools = ['x', 'y'].map((end) => ({ server: 'crm', tool: `${'long_'.repeat(20)}${end}` }));
  const given = names(tools);
  expect(given.map((name) => name.length)).toEqual([64, 64]);
  expect(new Set(given).size).toBe(2);
});

test("a name that is taken even with the server's prefix gets a hash", () => {
  expect(names([{ server: 'files', tool: 'read' }], ['read', 'files_read'])).toEqual([expect.stringMatching(/^files_read_[0-9a-f]{8}$/)]);
});

test('names with a meaning in JavaScript or Temporal are avoided', () => {
  const given = names([
    { server: 's', tool: '__proto__' },
    { server: 's', tool: '__temporal_x' },
    { server: 's', tool: '' },
  ]);
  expect(given).toEqual(['s___proto__', 's___temporal_x', 's_']);
});

test('for an agent with code, every name can be spelled in code', () => {
  const tools = [
    { server: 'context7', tool: 'resolve-library-id' },
    { server: 'git', tool: 'delete' },
    { server: 'git', tool: 'commit' },
    { server: '2nd', tool: '2.list' },
  ];
  expect(nameTools(tools, new Set(), 'javascript')).toEqual(['resolve_library_id', 'git_delete', 'git_commit', '_2_list']);
  expect(nameTools([{ server: 'git', tool: 'lambda' }], new Set(), 'python')).toEqual(['git_lambda']);
});

test('two tools that code would spell alike get different names', () => {
  const [first = '', second = ''] = nameTools(
    [
      { server: 'a', tool: 'x-y' },
      { server: 'a', tool: 'x_y' },
    ],
    new Set(),
    'javascript',
  );
  expect(first).toMatch(/^a_x_y_[0-9a-f]{8}$/);
  expect(second).toMatch(/^a_x_y_[0-9a-f]{8}$/);
  expect(first).not.toBe(second);
});
