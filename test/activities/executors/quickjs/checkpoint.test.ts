import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Executor } from '../../../../src/core/domain/execution.ts';
import { course, type Course, MOMENT } from '../course.ts';
import { executor, ordersOf } from './opened-executors.ts';

const PROVIDED = { scratchpad: true };
const made = () => executor({ allowedImports: ['math'] }, PROVIDED);

async function restored(one: Executor): Promise<Executor> {
  const other = made();
  await other.restore?.((await one.checkpoint?.()) ?? new Uint8Array());
  return other;
}

test('closures, classes, promises, tools, modules and the scratchpad of earlier cells work after a restore', async () => {
  const one = made();
  await course(
    one,
    `let n = 1; const inc = () => (n += 1); class C { #hidden = 5; get hidden() { return this.#hidden } } const c = new C();
     let settle; const later = new Promise((resolve) => { settle = resolve; }); const chained = later.then((value) => value + n);
     function* numbers() { yield 1; yield 2; } const iterator = numbers(); iterator.next(); const ask = (id) => orders({ id });
     const map = new Map([[c, 'c']]); const bytes = new Uint8Array([1, 2]); store('k', { a: 1 }); globalThis.lost = tools.orders(0);`,
  );
  const other = await restored(one);
  const { batches, result } = await course(
    other,
    `settle(10); import { floor } from 'math';
     await lost.catch((error) => print(error.name));
     print(inc(), n, c.hidden, c instanceof C, await chained, iterator.next(), map.get(c), bytes[1], recall('k'), floor(2.5));
     print(ask(7), await tools.orders({ id: 8 }));`,
  );
  expect(result.output).toBe('ToolError\n2 2 5 true 11 {"value":2,"done":false} c 2 {"a":1} 2\n{"id":7} {"id":8}');
  expect(batches).toEqual([ordersOf(7), ordersOf(8)]);
  expect(result.scratchpad?.values).toEqual({ k: { a: 1 } });
  // The executor of the checkpoint continues separately.
  expect((await course(one, 'print(inc(), c.hidden)')).result.output).toBe('2 5');
});

test('injected values that no run has had yet are part of a checkpoint', async () => {
  const one = made();
  one.inject('order', { id: 3 });
  const other = await restored(one);
  expect((await course(other, 'print(order)')).result.output).toBe('{"id":3}');
  expect((await course(one, 'print(order)')).result.output).toBe('{"id":3}');
});

test('a restore replaces the state of the executor, also after a kill', async () => {
  const one = made();
  await course(one, 'let a = 1');
  const checkpoint = (await one.checkpoint?.()) ?? new Uint8Array();
  const other = made();
  await course(other, 'let b = 2');
  await other.restore?.(checkpoint);
  expect((await course(other, 'print(a, typeof b)')).result.output).toBe('1 undefined');
  const running = other.begin('for (;;);', MOMENT);
  await other.kill();
  await running;
  await other.restore?.(checkpoint);
  expect((await course(other, 'print(a)')).result).toMatchObject({ output: '1', emptiedBy: null });
  await other.close();
  await expect(other.restore?.(checkpoint)).rejects.toThrow('The executor is closed');
});

test('what code deleted and overwrote stays so, and it still cannot make code of text', async () => {
  const one = made();
  await course(one, "delete globalThis.Map; print.mark = 1; globalThis.console = undefined; Math.floor = () => 'other'");
  const { result } = await course(
    await restored(one),
    "print(typeof Map, print.mark, console, Math.floor(1), typeof eval); try { (() => {}).constructor('1') } catch (error) { print(error.message) }",
  );
  expect(result.output).toBe('undefined 1 undefined other undefined\nCode cannot be made from text');
});

test('a checkpoint that does not fit is refused, and the executor keeps its state', async () => {
  const one = made();
  await course(one, 'let a = 1');
  const checkpoint = (await one.checkpoint?.()) ?? new Uint8Array();
  const flipped = checkpoint.map((byte, index) => (index === checkpoint.length - 100 ? byte ^ 1 : byte));
  const others: [Executor, Uint8Array, string][] = [
    [
      executor({ allowedImports: ['math'] }, { scratchpad: true, tools: [] }),
      checkpoint,
      'it was made with other tools, imports or scratchpad',
    ],
    [executor({}, PROVIDED), checkpoint, 'it was made with other tools, imports or scratchpad'],
    [executor({ allowedImports: ['math'], limits: { maxMemoryMb: 16 } }, PROVIDED), checkpoint, 'it was made with other limits'],
    [made(), flipped, 'it is damaged'],
    [made(), checkpoint.slice(0, 2_000), 'it is damaged'],
    [made(), new TextEncoder().encode('something else'), 'it is not a checkpoint of this executor'],
    [made(), new Uint8Array(), 'it is not a checkpoint of this executor'],
  ];
  for (const [other, bytes, problem] of others) {
    await course(other, 'let kept = 1');
    await expect(other.restore?.(bytes)).rejects.toThrow(`The checkpoint cannot be restored: ${problem}. Run the cells again instead`);
    expect((await course(other, 'print(kept, typeof a)')).result.output).toBe('1 undefined');
  }
});

test('a checkpoint of an executor that has run nothing can be restored', async () => {
  expect((await course(await restored(made()), 'print(1)')).result.output).toBe('1');
});

test('no checkpoint is made while code runs, nor after its end', async () => {
  const one = made();
  const running = one.begin('for (;;);', MOMENT);
  await expect(one.checkpoint?.()).rejects.toThrow('The executor is running code');
  await expect(one.restore?.(new Uint8Array())).rejects.toThrow('The executor is running code');
  await one.kill();
  await running;
  await expect(one.checkpoint?.()).rejects.toThrow('All names were lost by an error of the kind "killed"');
  await one.close();
  await expect(one.checkpoint?.()).rejects.toThrow('The executor is closed');
});

const CELLS = [
  'var list = globalThis.list ?? []; list.push(Math.random()); print(list)',
  'let n = (typeof n === "number" ? n : 0) + 1; const read = () => n; print(read())',
  'globalThis.total = (globalThis.total ?? 0) + orders({ id: globalThis.total ?? 0 }).id + 1; print(total)',
  'class Counter { static made = 0; constructor() { Counter.made += 1 } } globalThis.counter = new Counter(); print(Counter.made)',
  'globalThis.pending ??= []; pending.push(new Promise((resolve) => { globalThis.settleLast = resolve })); print(pending.length)',
  'globalThis.settleLast?.(Date.now()); print(await (globalThis.pending ?? []).at(-1))',
  'const all = await Promise.all([1, 2].map((id) => tools.orders({ id }))); print(all)',
  "store('seen', (recall('seen', 0)) + 1); observe('cell'); print(memory)",
  'import { sqrt } from "math"; print(sqrt(globalThis.total ?? 4))',
  'print(Object.keys(globalThis)); null.a',
  'function* walk() { let i = 0; for (;;) yield i++ } globalThis.walker ??= walk(); print(walker.next().value)',
];

const told = ({ batches, outputs, result }: Course): unknown => ({
  batches,
  outputs,
  result: { ...result, durationMs: 0, memoryUsedBytes: 0 },
});

test('a random sequence of cells continues the same if it is checkpointed after any cell and restored in a new thread', async () => {
  const index = fc.nat({ max: CELLS.length - 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(index, fc.boolean()), { minLength: 2, maxLength: 8 }), async (steps) => {
      const undisturbed = made();
      let moved = made();
      for (const [cell, isMoved] of steps) {
        const code = CELLS[cell] ?? '';
        expect(told(await course(moved, code))).toEqual(told(await course(undisturbed, code)));
        if (!isMoved) continue;
        const next = await restored(moved);
        await moved.close();
        moved = next;
      }
      await Promise.all([undisturbed.close(), moved.close()]);
    }),
    { numRuns: 8 },
  );
}, 60_000);
