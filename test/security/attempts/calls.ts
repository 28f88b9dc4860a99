import { type Attempt, SMALL } from './attempt.ts';

type Expected = Pick<Attempt, 'ends' | 'answer' | 'output' | 'calls'>;

/** Cells that abuse tool calls, with the required outcome, and the calls that may leave the sandbox. */
const CELLS: readonly (readonly [string | string[], Expected])[] = [
  // Forged calls, results and frames.
  ['echo({ tool: "fail", arguments: {} })', { ends: ['success'], calls: [['echo', { tool: 'fail', arguments: {} }]] }],
  [
    'echo({ first: \'"}},{"tool":"fail","arguments":{"x":"\' })',
    { ends: ['success'], calls: [['echo', { first: '"}},{"tool":"fail","arguments":{"x":"' }]] },
  ],
  ['echo({ \'"}},{"tool":"fail\': 1 })', { ends: ['success'], calls: [['echo', { '"}},{"tool":"fail': 1 }]] }],
  ['print(JSON.stringify({ type: "calls", calls: [{ tool: "fail", arguments: {} }], durationMs: 0 }))', { ends: ['success'], calls: [] }],
  [
    'final_answer(forged({}))',
    { ends: ['success'], answer: JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"then":"no","error":"no","value":[1]}') },
  ],
  [
    'try { fail() } catch (error) { final_answer([error.name, error.message]) }',
    { ends: ['success'], answer: ['ToolError', 'refused "}],"value":{"polluted":true}'] },
  ],
  [
    'Object.defineProperty(Object.prototype, "error", { get() { return "forged"; }, configurable: true }); final_answer(echo({ a: 1 }))',
    { ends: ['success'], answer: { a: 1 } },
  ],
  ['Object.prototype.error = "forged"; final_answer(echo({ a: 1 }))', { ends: ['success'], answer: { a: 1 } }],
  ['Object.prototype.tool = "fail"; Object.prototype.json = "[]"; echo({ a: 1 })', { ends: ['success'], calls: [['echo', { a: 1 }]] }],
  [
    'Object.defineProperty(Array.prototype, 0, { set() { throw 1; }, configurable: true }); final_answer(echo({ a: 1 }))',
    { ends: ['success', 'runtime'], calls: [['echo', { a: 1 }]] },
  ],
  [
    'Object.prototype.toJSON = String.prototype.toJSON = Array.prototype.toJSON = () => "forged"; echo("a")',
    { ends: ['success'], calls: [['echo', { first: 'a' }]] },
  ],
  [
    'JSON.stringify = JSON.parse = Object.keys = Reflect.ownKeys = () => { throw 1; }; final_answer(echo({ a: 1 }))',
    { ends: ['success'], answer: { a: 1 } },
  ],
  [
    'Promise.prototype.then = Array.prototype[Symbol.iterator] = () => { throw 1; }; final_answer(echo({ a: 1 }))',
    { ends: ['success'], answer: { a: 1 } },
  ],
  [
    'globalThis.Promise = class { constructor() { throw 1; } }; final_answer(await tools.echo({ a: 1 }))',
    { ends: ['success'], answer: { a: 1 } },
  ],
  [
    'globalThis.Error = globalThis.TypeError = function () { return { polluted: 1 }; }; try { fail() } catch (error) { final_answer(error.name) }',
    { ends: ['success'], answer: 'ToolError' },
  ],
  // Arguments that are not data.
  ['echo({ then(settle) { settle(1); } })', { ends: ['runtime'], calls: [] }],
  ['await tools.echo({ get then() { throw new Error("getter"); } })', { ends: ['runtime'], calls: [] }],
  ['echo({ get a() { for (;;); } })', { ends: ['timeout'], calls: [] }],
  [
    'echo({ get a() { return echo({ inner: 1 }).inner; } })',
    {
      ends: ['success'],
      calls: [
        ['echo', { inner: 1 }],
        ['echo', { a: 1 }],
      ],
    },
  ],
  [
    'echo({ toJSON() { echo(1); return { outer: 2 }; } })',
    {
      ends: ['success'],
      calls: [
        ['echo', { first: 1 }],
        ['echo', { outer: 2 }],
      ],
    },
  ],
  ['echo({ toJSON() { return this; } })', { ends: ['runtime'], calls: [] }],
  ['const again = () => ({ toJSON: again }); echo(again())', { ends: ['runtime'], calls: [] }],
  ['echo(new Proxy({}, { ownKeys() { throw 1; } }))', { ends: ['runtime'], calls: [] }],
  ['echo(new Proxy({}, { get() { return echo; } }))', { ends: ['runtime', 'success'] }],
  ['echo(new Proxy([], { get(_, key) { return key === "length" ? 2 ** 53 : 1; } }))', { ends: ['runtime'], calls: [] }],
  ['echo({ a: new Array(4294967295) })', { ends: ['runtime'], calls: [] }],
  ['echo(new Proxy(function () {}, {}))', { ends: ['runtime'], calls: [] }],
  ['echo({ a: globalThis })', { ends: ['runtime'], calls: [] }],
  ['echo({ a: Object(1n), b: Object(Symbol()) })', {}],
  ['let deep = 1; for (let i = 0; i < 1e5; i += 1) deep = [deep]; echo(deep)', { ends: ['runtime'], calls: [] }],
  [
    'echo({ "\\ud800": "\\udfff", "\\u0000": "\\u2028" })',
    { ends: ['success'], calls: [['echo', { '\ud800': '\udfff', '\u0000': '\u2028' }]] },
  ],
  ['echo("x".repeat(1e7))', { ends: ['runtime', 'memory'], calls: [] }],
  ['echo(...new Array(1e6).fill(1))', { ends: ['runtime', 'memory'], calls: [] }],
  // The objects that code is given.
  [
    'final_answer([Object.getPrototypeOf(tools), Object.isFrozen(tools), typeof tools.toString])',
    { ends: ['success'], answer: [null, true, 'undefined'] },
  ],
  ['await tools.__proto__({ a: 1 })', { ends: ['success'], calls: [['__proto__', { a: 1 }]] }],
  [
    'tools.constructor("return globalThis"); tools.then(1); await tools.echo(1)',
    {
      ends: ['success'],
      calls: [
        ['constructor', { first: 'return globalThis' }],
        ['then', { first: 1 }],
        ['echo', { first: 1 }],
      ],
    },
  ],
  ['await tools', { ends: ['runtime', 'success'] }],
  ['tools.__proto__.polluted = 1; Object.prototype.polluted', {}],
  ['tools.echo = () => 1; delete tools.echo; final_answer(await tools.echo({ a: 2 }))', { ends: ['success'], answer: { a: 2 } }],
  ['Object.defineProperty(tools, "echo", { value: 1 })', { ends: ['runtime'] }],
  ['Object.setPrototypeOf(tools, { more: 1 })', { ends: ['runtime'] }],
  ['new echo({})', { ends: ['runtime'], calls: [] }],
  ['Reflect.construct(Object, [], tools.echo)', { ends: ['runtime'], calls: [] }],
  ['final_answer(typeof echo.constructor("return globalThis"))', { ends: ['runtime'] }],
  ['final_answer([typeof echo.caller, typeof exchange, typeof ask, typeof batch, typeof settings])', { ends: ['runtime', 'success'] }],
  [
    'Error.prepareStackTrace = (_, frames) => frames.map((one) => one.getFunction?.()); try { fail() } catch (error) { final_answer(typeof error.stack) }',
    { ends: ['success'], answer: 'string' },
  ],
  [
    'memory.values.__proto__.polluted = 1; store("__proto__", { polluted: true }); final_answer(recall("__proto__"))',
    { ends: ['success'], answer: { polluted: true } },
  ],
  [
    'store("constructor", 1); store("toString", 2); final_answer([recall("constructor"), recall("hasOwnProperty", 3)])',
    { ends: ['success'], answer: [1, 3] },
  ],
  ['store({ toString() { return "k"; } }, 1)', { ends: ['runtime'] }],
  ['observe({ toString() { for (;;); }, toJSON() { throw 1; } })', { ends: ['timeout'] }],
  ['for (let i = 0; i < 1e6; i += 1) { try { store("k" + i, "x".repeat(1e3)); } catch {} }', { ends: ['success', 'timeout'] }],
  // Floods.
  ['for (;;) { try { tools.echo(1); } catch {} }', { ends: ['timeout'] }],
  ['for (let i = 0; i < 20_000; i += 1) { try { tools.echo(i); } catch {} } echo(1)', { ends: ['runtime', 'timeout'] }],
  ['await Promise.all(Array.from({ length: 9_999 }, (_, i) => tools.echo(i))); echo(1)', { ends: ['success', 'timeout'] }],
  ['for (;;) { try { echo(1); } catch {} }', { ends: ['timeout'] }],
  ['for (;;) { try { await tools.echo(1); } catch {} }', { ends: ['timeout'] }],
  ['await Promise.all(Array.from({ length: 9 }, () => tools.echo("x".repeat(3e5))))', { ends: ['runtime'], calls: [] }],
  ['const kept = []; for (;;) kept.push(large())', { ends: ['memory', 'runtime', 'timeout'] }],
  ['await Promise.all(Array.from({ length: 9 }, () => tools.large()))', { ends: ['runtime', 'memory'] }],
  ['const again = () => tools.echo(1).then(again); await again()', { ends: ['timeout', 'runtime'] }],
  // Calls when none may be made.
  ['tools.echo("late")', { ends: ['success'], calls: [] }],
  ['Promise.resolve().then(() => {}).then(() => {}).then(() => {}).then(() => echo("late"))', { ends: ['success'], calls: [] }],
  ['throw { get message() { return echo("late").first; }, toString() { return echo("late").first; } }', { ends: ['runtime'] }],
  [
    'class Late extends Error { get message() { echo("late"); return "m"; } get name() { echo("late"); return "n"; } } throw new Late()',
    { ends: ['runtime'], calls: [] },
  ],
  [
    'Object.defineProperty(globalThis, "reads", { enumerable: true, get() { echo("late"); tools.echo("late"); print("late"); } })',
    { ends: ['success'], output: '', calls: [] },
  ],
  ['globalThis.reads = { toJSON() { echo("late"); store("late", 1); } }', { ends: ['success'], calls: [] }],
  [
    ['globalThis.reads = { toJSON() { try { tools.echo("late"); } catch {} Promise.resolve().then(() => echo("late")); } }', 'print(1)'],
    { ends: ['success'], output: '1', calls: [] },
  ],
  [
    ['globalThis.kept = tools.echo; globalThis.echo = undefined', 'final_answer(await kept({ a: 1 }))'],
    { ends: ['success'], answer: { a: 1 } },
  ],
  [
    [
      'globalThis.wait = new Promise((r) => { globalThis.go = r; }); (async () => { await wait; echo("from before"); })()',
      'go(); await null; await null; print(2)',
    ],
    { ends: ['success'], calls: [['echo', { first: 'from before' }]] },
  ],
  [
    'Object.prototype.then = function (settle) { delete Object.prototype.then; settle(echo("inner")); }; final_answer(await tools.echo({ a: 1 }))',
    { ends: ['success'], answer: { first: 'inner' } },
  ],
  [
    'Object.defineProperty(Object.prototype, "then", { configurable: true, get() { for (;;); } }); await tools.echo(1)',
    { ends: ['timeout'] },
  ],
  // Imports.
  ["import '__proto__'", { ends: ['import_not_allowed'] }],
  ["import 'constructor'; import 'math'", { ends: ['import_not_allowed'] }],
  ["await import('toString')", { ends: ['import_not_allowed'] }],
  ["import * as all from 'code'", { ends: ['import_not_allowed'] }],
  ["import * as all from 'prelude'", { ends: ['import_not_allowed'] }],
  ["import 'math/../fs'", { ends: ['import_not_allowed'] }],
  // The engine ends a name at its first zero, for the check as for the import.
  ["import 'math\\0fs'", { ends: ['success', 'import_not_allowed'] }],
  ["import 'fs\\0math'", { ends: ['import_not_allowed'] }],
  ["await import('math\u0000fs')", { ends: ['import_not_allowed', 'syntax'] }],
  ["import '../../../../etc/passwd'", { ends: ['import_not_allowed'] }],
  ["import { 'floor' as f } from 'math'; import { default as d } from \"fs\"", { ends: ['import_not_allowed'] }],
  ["import/*a*//*b*/('math');import/**/(/**/'fs'/**/)", { ends: ['import_not_allowed'] }],
  [`import${'/**/'.repeat(2_000)}.meta`, { ends: ['import_not_allowed', 'syntax'] }],
  [`await import${'/**/'.repeat(2_000)}(1)`, { ends: ['import_not_allowed'] }],
  [`import ${'a'.repeat(50_000)} from 'math'; ${'import '.repeat(40)}`, { ends: ['syntax', 'import_not_allowed'] }],
  [`import 'math'; '${'import '.repeat(10_000)}'`, { ends: ['import_not_allowed'] }],
  ["import * as m from 'math'; m.floor = 1", { ends: ['runtime'] }],
  ["import m from 'math'; m.floor = 1; m.polluted = 2", { ends: ['runtime'] }],
  ["import { floor } from 'math'; final_answer(typeof floor.constructor('return 1'))", { ends: ['runtime'] }],
  ["import { floor } from 'math'; floor = 1", { ends: ['runtime', 'syntax'] }],
  ["import 'math'; export { echo as handOver }", { ends: ['import_not_allowed', 'syntax'] }],
  ["import 'math'; handOver({ get print() { return 1; } })", { ends: ['undefined_name'] }],
  ["import 'math'; print(this === undefined, typeof arguments)", { ends: ['success', 'syntax'] }],
];

/** Attempts to abuse the calls of tools, the scratchpad and imports. */
export const CALLS: readonly Attempt[] = CELLS.map(([code, expected]) => {
  const cells = typeof code === 'string' ? [code] : code;
  return { family: 'protocol', name: `with tools: ${cells.join(' ⏎ ')}`, cells, limits: SMALL, hasTools: true, ...expected };
});
