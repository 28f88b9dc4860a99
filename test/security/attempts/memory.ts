import type { Attempt } from './attempt.ts';

/** Code that takes memory until none is left. */
const BOMBS: readonly string[] = [
  'const all = []; for (;;) all.push(all.length)',
  'const all = []; for (;;) all.push({ a: 1, b: [2] })',
  'const all = []; for (;;) all.push("x".repeat(1e5) + all.length)',
  'const all = []; for (;;) all.push(new Uint8Array(1e6))',
  'const all = []; for (;;) all.push(new Float64Array(1e5).fill(1))',
  'const all = []; for (;;) all.push(new ArrayBuffer(2 ** 20))',
  'const all = []; for (;;) all.push(new SharedArrayBuffer(2 ** 20))',
  'const one = new ArrayBuffer(8, { maxByteLength: 2 ** 30 }); one.resize(2 ** 29)',
  'new Uint8Array(2 ** 31 - 1)',
  'new Array(2 ** 27).fill(0)',
  'new Array(2 ** 32 - 1).fill({})',
  'let text = "x"; for (;;) text += text',
  'let text = "x"; for (;;) text = [text, text].join("-")',
  '"x".repeat(2 ** 29)',
  '"x".padEnd(2 ** 29, "yz")',
  '"a".repeat(1e6).replaceAll("a", "b".repeat(1e3))',
  '"a".repeat(1e6).split("").map((one) => [one, one, one, one, one])',
  'const all = new Map(); for (;;) all.set({}, {})',
  'const all = new Set(); for (let i = 0; ; i += 1) all.add("key" + i)',
  'const all = {}; for (let i = 0; ; i += 1) all["key" + i] = i',
  'const all = []; for (;;) all.push(Symbol("x".repeat(1e3) + all.length))',
  'let inner = null; for (;;) { const outer = inner; inner = () => outer; }',
  'let inner = []; for (;;) inner = [inner, new Array(100).fill(inner)]',
  'const all = []; for (;;) all.push(function () { return all; }.bind(all, all.length))',
  'const all = []; for (;;) all.push(new Promise(() => {}))',
  'const all = []; for (;;) all.push(Promise.reject(new Error("x".repeat(1e3))))',
  'for (;;) queueMicrotask(() => {})',
  'const all = []; for (;;) all.push((function* () { yield all; })())',
  'const all = []; for (;;) all.push(new Date(), /x/g, new Error("x"))',
  'globalThis.kept = []; for (;;) { try { for (;;) kept.push(new Uint8Array(1e5)); } catch {} }',
  'globalThis.kept = []; for (;;) { try { kept.push("x".repeat(kept.length + 1)); } catch { kept.push(1); } }',
  'let big = 7n; for (;;) big *= big',
  'JSON.stringify(new Array(5e6).fill("x".repeat(100)))',
  'JSON.parse("[" + "[1],".repeat(3e6) + "1]")',
  'new Array(1e8).concat(new Array(1e8)).fill(1)',
  'Object.fromEntries(Array.from({ length: 1e7 }, (_, i) => ["k" + i, i]))',
  'print("x".repeat(2 ** 28))',
  'for (;;) { print("x".repeat(2 ** 20)); (globalThis.kept ??= []).push("y".repeat(2 ** 20) + kept?.length); }',
  'final_answer("x".repeat(2 ** 28))',
  'final_answer(new Array(1e7).fill("xxxxxxxxxx"))',
  'throw new Error("x".repeat(2 ** 28))',
  'const map = new WeakMap(), all = []; for (;;) { const one = {}; all.push(one); map.set(one, [one]); }',
  'String.fromCharCode(...new Array(1e7).fill(65))',
  'Math.max(...new Array(3e7).fill(1))',
  'new RegExp("(" + "a|".repeat(2e6) + "b)")',
];

/** Less memory and more time than other attempts have, so that most reach the limit of memory. */
const LIMITS = { timeoutSeconds: 1.5, maxMemoryMb: 16 };

/** Attempts to take more memory than the limit. */
export const MEMORY: readonly Attempt[] = BOMBS.map((code) => ({
  family: 'memory',
  name: code,
  cells: [code],
  limits: LIMITS,
  ends: ['memory', 'timeout', 'runtime'],
}));
