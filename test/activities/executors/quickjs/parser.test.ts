import { beforeAll, describe, expect, test } from 'vitest';
import { engineModule } from '../../../../activities/executors/quickjs/quickjs-executor.ts';
import { declaredNames, readProgram } from '../../../../activities/executors/quickjs/thread/cells.ts';
import { Parser } from '../../../../activities/executors/quickjs/thread/engine.ts';
import type { ExecutionError } from '../../../../src/core/domain/execution.ts';
import { course } from '../course.ts';
import { executor } from './opened-executors.ts';

describe('the parser', () => {
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
});

const withMath = () => executor({ allowedImports: ['math', 'decimal'] });

test.each([
  ["import { sqrt } from 'math'; print(sqrt(25).toFixed(1))", '5.0'],
  ["import { floor as down, PI } from 'math';\nprint(down(PI))", '3'],
  ["import * as m from 'math'; print(m.max(1, 2), typeof m.random)", '2 undefined'],
  ["import m from 'math'; print(m.min(1, 2))", '1'],
  ["import m, { abs } from 'math'; print(m.min(1, 2), abs(-3))", '1 3'],
  ["import 'math'; print(1)", '1'],
  ["const { floor } = await import('math'); print(floor(2.5))", '2'],
  ['const m = await import( /* of numbers */ "math" ); print(m.floor(2.5))', '2'],
  ["import { sqrt } from 'math'; const m = await import('math'); print(m.sqrt === sqrt)", 'true'],
  ["print('import x from os; import(y)') // import('os')", 'import x from os; import(y)'],
  ["import { sqrt } from 'math'; print(\"import('os')\", { import: 1 }.import, sqrt(4))", "import('os') 1 2"],
])('%s runs', async (code, output) => {
  expect((await course(withMath(), code)).result).toMatchObject({ output, error: null });
});

test('the imports and declarations of a cell are available in the next', async () => {
  const one = withMath();
  await course(one, "import { sqrt, floor as down } from 'math'; let n = sqrt(16); const next = () => (n += 1); class C {}");
  const { result } = await course(one, 'n *= 10; print(next(), down(sqrt(2)), typeof C)');
  expect(result.output).toBe('41 1 function');
  expect(Object.keys(result.namespace)).toEqual(['sqrt', 'down', 'n', 'next', 'C']);
});

test('a module of an executor waits for calls like any code, and fails like it', async () => {
  const { batches, result } = await course(
    withMath(),
    "import { floor } from 'math'; print(floor(orders(2.5).id), floor((await tools.orders(3.5)).id)); throw new RangeError('no')",
  );
  expect(batches).toHaveLength(2);
  expect(result).toMatchObject({ output: '2 3', error: { kind: 'runtime', message: 'RangeError: no' }, namespace: {} });
});

test('a module has the built-ins that code has not changed', async () => {
  const one = withMath();
  await course(one, 'Math.floor = () => 99');
  expect((await course(one, "import { floor } from 'math'; print(floor(1.5))")).result.output).toBe('1');
});

test.each([
  ["import p from 'os/path'", 'Import "os/path" is not allowed: the code may import math, decimal'],
  ["import { environ } from 'os'", 'Import "os" is not allowed'],
  ["import 'math'; import 'json'", 'Import "json" is not allowed'],
  ["import 'math'; print(1); if (false) await import('json')", 'Import "json" is not allowed'],
  ["import { a } from 'decimal'", 'Import "decimal" is not allowed: the executor has no such module, only math'],
  ["import x from 'math/x'", 'Import "math/x" is not allowed: the executor has no such module'],
  ["const name = 'math'; await import(name)", 'import() is not allowed unless its argument is the name of a module'],
  ["await import('ma' + 'th')", 'import() is not allowed unless'],
  ['await import(`${"os"}`)', 'import() is not allowed unless'],
  ["await import('math', {})", 'import() is not allowed unless'],
  ["import 'math'; print(import.meta)", 'import.meta is not allowed'],
  ["import 'math'; export const a = 1", 'export is not allowed'],
  ["import 'math'; require('math')", 'require is not allowed'],
  ["import '__proto__'", 'Import "__proto__" is not allowed'],
  ["await import('constructor')", 'Import "constructor" is not allowed'],
  ["import 'prelude'; import 'code'", 'Import "prelude" is not allowed'],
  ["export * from 'math'", 'export is not allowed'],
])('%s is refused before it runs', async (code, message) => {
  const { result } = await course(withMath(), `print('ran');\n${code}`);
  expect(result).toMatchObject({ output: '', success: false, error: { kind: 'import_not_allowed' } });
  expect(result.error?.message).toContain(message);
});

test('a module that is imported again is judged again', async () => {
  const one = executor();
  for (const _ of [1, 2]) {
    expect((await course(one, "import 'os'")).result.error?.message).toBe('Import "os" is not allowed: the code has no modules');
  }
});

test('code that is not a module either has the error of a script', async () => {
  const { result } = await course(withMath(), "import { sqrt } from 'math'; let = ;");
  expect(result.error?.kind).toBe('syntax');
});
