import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiChanges } from './api-changes.ts';
import { apiReport, blocksOf, narrowed, RELEASED, REPORT, unannounced } from './api-report.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the report of the API matches the types', () => {
  const [written, made] = [read(REPORT), apiReport()];
  expect(apiChanges(written, made), 'run npm run docs').toEqual([]);
  expect(written === made, 'run npm run docs').toBe(true);
});

test('the changelog names everything that was removed or narrowed since the last release', () => {
  const missing = unannounced(narrowed(read(RELEASED), read(REPORT)), read('CHANGELOG.md'));
  expect(missing, 'name each in backticks in a line under [Unreleased]').toEqual([]);
});

const POINT = '### longhaul: Point\n\n```ts\ninterface Point {\n    x: number;\n    y?: number;\n}\n```\n';

test.each([
  ['is gone', '### longhaul: Line\n\n```ts\ntype Line = Point[];\n```\n', ['longhaul: Point']],
  ['lacks a member', POINT.replace('    y?: number;\n', ''), ['longhaul: Point']],
  ['has a member of another type', POINT.replace('x: number', 'x: string'), ['longhaul: Point']],
  ['has a member that is now required', POINT.replace('y?:', 'y:'), ['longhaul: Point']],
  ['has a new required member', POINT.replace('}', '    z: number;\n}'), ['longhaul: Point']],
  ['has a new optional member', POINT.replace('}', '    z?: number;\n}'), []],
  ['has a neighbour', `${POINT}\n### longhaul: Line\n\n\`\`\`ts\ntype Line = Point[];\n\`\`\`\n`, []],
])('an export that %s', (_, now, expected) => {
  expect(narrowed(POINT, now)).toEqual(expected);
});

test('a reader of two reports sees each export that is new, gone, or has other lines', () => {
  const now = `${POINT.replace('x: number', 'x: string').replace('    y?: number;\n', '')}\n### longhaul: Line\n\n\`\`\`ts\ntype Line = Point[];\n\`\`\`\n`;
  expect(apiChanges(POINT, now)).toEqual([
    '+ longhaul: Line',
    '~ longhaul: Point',
    '    - x: number;',
    '    - y?: number;',
    '    + x: string;',
  ]);
  expect(apiChanges(now, POINT)).toContain('- longhaul: Line');
  expect(apiChanges(now, now)).toEqual([]);
  const many = POINT.replace('}', `${Array.from({ length: 50 }, (_, index) => `    z${index}?: number;`).join('\n')}\n}`);
  expect(apiChanges(POINT, many).at(-1)).toBe('    … and 10 more lines');
});

test('a type that signatures used is no longer among those that are not exported, because it is exported now', () => {
  const used = POINT.replace('longhaul: Point', 'Point');
  expect(narrowed(used, POINT)).toEqual([]);
  expect(narrowed(used, POINT.replace('x: number', 'x: string'))).toEqual(['Point']);
});

test('types that are not exported and share a name are compared in any order', () => {
  const [one, other] = [POINT.replace('longhaul: Point', 'Point'), '### Point\n\n```ts\nconst Point = 1;\n```\n'];
  expect(narrowed(`${one}\n${other}`, `${other}\n${one}`)).toEqual([]);
  expect(narrowed(`${one}\n${other}`, one)).toEqual(['Point']);
});

test('a narrowed export needs its name in backticks among the changes of the next release', () => {
  const released = '# Changelog\n\n## [Unreleased]\n\n- Lines.\n\n## [0.1.0]\n\n- `Point` is new.\n';
  expect(unannounced(['longhaul: Point'], released)).toEqual(['longhaul: Point']);
  expect(unannounced(['longhaul: Point'], released.replace('Lines.', '`y` of `Point` is required.'))).toEqual([]);
});

test('the report has each export, with its signature, and types that signatures use', () => {
  const blocks = blocksOf(apiReport());
  expect(blocks.get('longhaul: defineAgent')?.join('\n')).toContain('AgentOptions<Output, Deps, Tools');
  expect(blocks.get('longhaul/client: RunResult')).toEqual(['The same as `longhaul: RunResult`.']);
  expect(blocks.get('longhaul/client: RunHandle')?.join('\n')).not.toMatch(/#private|\/\*\*/);
  expect(blocks.has('SPILLED')).toBe(true);
});
