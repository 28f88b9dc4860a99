import { type Attempt, SMALL } from './attempt.ts';

const nested = (open: string, inner: string, close: string, depth: number): string => open.repeat(depth) + inner + close.repeat(depth);

/** Code that goes deep when it is parsed. */
const DEEP_SOURCES: readonly (readonly [string, string])[] = [
  ['parentheses', nested('(', '1', ')', 40_000)],
  ['lists', nested('[', '', ']', 40_000)],
  ['open lists', '['.repeat(90_000)],
  ['objects', nested('({a:', '1', '})', 15_000)],
  ['blocks', nested('{', '', '}', 40_000)],
  ['functions', nested('(() => ', '1', ')', 10_000)],
  ['templates', nested('`${', '1', '}`', 20_000)],
  ['unary operators', `${'!'.repeat(90_000)}1`],
  ['powers', `${'2**'.repeat(30_000)}1`],
  ['conditions', `${'1?'.repeat(30_000)}1${':1'.repeat(30_000)}`],
  ['destructuring', `let ${nested('[', 'a', ']', 30_000)} = []`],
  ['members', `globalThis${'.a'.repeat(40_000)}`],
  ['additions', `1${'+1'.repeat(45_000)}`],
  ['if', `${'if(1)'.repeat(15_000)};`],
  ['labels', `${Array.from({ length: 8_000 }, (_, index) => `l${index}:`).join('')};`],
  ['classes', nested('(class{static{', '', '}})', 7_000)],
];

/** Code that goes deep when it runs. */
const RECURSION: readonly string[] = [
  '(function again() { again(); })()',
  '(function again() { try { again(); } finally { again(); } })()',
  '(function again(n) { try { return again(n + 1); } catch { return n; } })(0)',
  'const again = async () => { await again(); }; await again()',
  'const one = { get a() { return this.a; } }; one.a',
  'const one = { toString() { return `${this}`; } }; `${one}`',
  'const one = new Proxy({}, { get(target, key, self) { return self[key]; } }); one.a',
  'const one = { toJSON() { return JSON.stringify(this); } }; print(one)',
  'JSON.parse("[".repeat(1e5))',
  'JSON.parse("[".repeat(1e5) + "]".repeat(1e5))',
  'JSON.parse("{\\"a\\":".repeat(1e5) + "1" + "}".repeat(1e5))',
  'let deep = []; for (let i = 0; i < 1e5; i += 1) deep = [deep]; JSON.stringify(deep)',
  'let deep = []; for (let i = 0; i < 1e5; i += 1) deep = [deep]; final_answer(deep)',
  'let deep = []; for (let i = 0; i < 1e5; i += 1) deep = [deep]; print(deep); deep = null',
  'let deep = {}; for (let i = 0; i < 1e5; i += 1) deep = { deep }; globalThis.kept = deep',
  'let deep = () => 1; for (let i = 0; i < 1e5; i += 1) { const inner = deep; deep = () => inner(); } deep()',
  'let deep = {}; for (let i = 0; i < 2e4; i += 1) deep = Object.create(deep); deep.missing',
  'let deep = {}; for (let i = 0; i < 2e4; i += 1) deep = new Proxy(deep, {}); deep.missing',
  'let deep = print; for (let i = 0; i < 2e4; i += 1) deep = deep.bind(null); deep(1)',
  'let deep = Promise.resolve(); for (let i = 0; i < 5e4; i += 1) { const inner = deep; deep = { then(a, b) { inner.then(a, b); } }; } await deep',
  'new RegExp("(".repeat(2e4) + ")".repeat(2e4))',
  'new RegExp("(?:a".repeat(5e4))',
  '[1].reduce.call(new Array(1e5).fill((a) => a), (a, b) => (c) => a(b(c)))(1)',
  '[[[[]]]].flat(Infinity); const self = []; self.push(self); self.flat(Infinity)',
  'const self = []; self.push(self); String(self)',
  'class A { constructor() { return new A(); } } new A()',
  'print.apply(null, new Array(2e5).fill(1))',
  'print(...new Array(2e5).fill(1))',
  '[2, 1].sort(function compare() { return [2, 1].sort(compare).length; })',
  '"a".replace(/a/, function again() { return "a".replace(/a/, again); })',
];

/** Attempts to overflow the stack of the engine, or of the host. */
export const STACK: readonly Attempt[] = [
  ...DEEP_SOURCES.map(([name, code]): Attempt => ({ family: 'stack', name: `source: ${name}`, cells: [code], limits: SMALL })),
  ...RECURSION.map((code): Attempt => ({ family: 'stack', name: code, cells: [code], limits: SMALL })),
];
