import { beforeAll, expect, test } from 'vitest';
import { engineModule } from '../../../../activities/executors/quickjs/cell-thread.ts';
import { declaredNames, readProgram } from '../../../../activities/executors/quickjs/thread/cells.ts';
import { Parser } from '../../../../activities/executors/quickjs/thread/engine.ts';
import type { ExecutionError } from '../../../../src/core/domain/execution.ts';

let parser: Parser;

beforeAll(async () => {
  parser = await Parser.create(engineModule());
});

function problem(code: string, allowedImports: string[] = []): ExecutionError | undefined {
  const read = readProgram(parser, code, allowedImports);
  return 'kind' in read ? read : undefined;
}

test.each([
  "import fs from 'fs'",
  "print(1);\nimport { a } from 'b'",
  'export const a = 1',
  'export default 1',
  "await import('fs')",
  "function later() { return () => import('fs') }",
  '`${import("fs")}`',
  "if (false) import('fs')",
  'import.meta',
  "require('fs')",
  "const { readFile } = require('fs')",
  'typeof require',
  "/* import */ x / import('a') / y",
])('%j is refused before it runs', (code) => {
  expect(problem(code)).toMatchObject({ kind: 'import_not_allowed' });
});

test('the error of an import names its module', () => {
  expect(problem("import path from 'os/path'")?.message).toContain('Import "os/path" is not allowed');
});

test.each([
  "print('import x from y; require(z)')",
  '// import("fs")\n/* require("fs") */',
  '`import ${1} require`',
  'goods.import(); goods?.require(1)',
  '({ import: 1, require() {} })',
  'class Goods { import() {} static require = 1; #import = 2 }',
  '/import|require/.test(text)',
  'const required = 1, important = 2',
])('%j imports nothing', (code) => {
  expect(problem(code)).toBeUndefined();
});

test.each([
  ['let = ;', 1],
  ['print(1)\nfunction (', 2],
  ['return 1', 1],
  ["imp\\u006frt('fs')", 1],
  ['})(); (() => {', 1],
])('%j is a syntax error', (code, line) => {
  const found = problem(code);
  expect(found?.kind).toBe('syntax');
  expect(found?.message).toMatch(new RegExp(`^SyntaxError: .* \\(line ${line}\\)$`));
});

test.each([
  ['', []],
  ['a + b; a = 1', []],
  ['let a = 1, b; const c = 2; var d', ['a', 'b', 'c', 'd']],
  ['function f(x) { let y }\nasync function* g() {}\nclass C { m() {} }', ['C', 'f', 'g']],
  ['const { a, b: { c }, ...d } = e; let [f, , g = h] = i', ['a', 'c', 'd', 'f', 'g']],
  ['for (var i = 0; ;) { break }\nif (a) { var b; let c }', ['b', 'i']],
  ['"use strict"; let a', ['a']],
  ['with (a) { b }\nlet c', ['c']],
  ['let a\r\nlet b\u2028let c\rlet d // let e', ['a', 'b', 'c', 'd']],
  ['const ünïcode = 1, $ = 2, _ = 3', ['$', '_', 'ünïcode']],
  ['"let a = 1"; /let b/; `const c`', []],
])('%j declares %j', (code, names) => {
  expect(problem(code)).toBeUndefined();
  expect(declaredNames(parser, code).toSorted()).toEqual(names);
});

test('many cells leave the parser with memory for the next', async () => {
  const cell = Array.from({ length: 2_000 }, (_, index) => `function f${index}(x) { return x + ${index} }`).join('\n');
  for (let index = 0; index < 90; index += 1) {
    await parser.renew();
    expect(problem(cell)).toBeUndefined();
  }
}, 60_000);
