import { expect, test } from 'vitest';
import { course, MOMENT } from '../course.ts';
import { executor } from './opened-executors.ts';

const withScratchpad = () => executor({}, { scratchpad: true });

test('what code stores, observes and gives up is in its scratchpad, which later cells read', async () => {
  const one = withScratchpad();
  const first = await course(one, "store('k', { n: 41 }); store('gone', 1); observe('saw it'); memory.fail('by hand'); print(memory)");
  const scratchpad = { values: { k: { n: 41 }, gone: 1 }, observations: ['saw it'], failed: ['by hand'] };
  expect(first.result.scratchpad).toEqual(scratchpad);
  expect(JSON.parse(first.result.output)).toEqual(scratchpad);
  const next = await course(
    one,
    "store('k', recall('k').n + 1); print(recall('k'), recall('none'), recall('none', 'else'), memory.values.k)",
  );
  expect(next.result.output).toBe('42 null else 42');
  expect(next.result.scratchpad?.values).toEqual({ k: 42, gone: 1 });
});

test('the scratchpad has copies: changing a value that was stored changes nothing', async () => {
  const { result } = await course(
    withScratchpad(),
    "const v = [1]; store('v', v); v.push(2); recall('v').push(3); memory.values.v.push(4)",
  );
  expect(result.scratchpad?.values).toEqual({ v: [1] });
});

test('signals are printed', async () => {
  const { result } = await course(withScratchpad(), "uncertain('whether'); explore('how'); commit('this'); uncertain({ a: 1 })");
  expect(result.output).toBe('[UNCERTAIN] whether\n[EXPLORE] how\n[COMMIT] this\n[UNCERTAIN] {"a":1}');
});

test('signals return their arguments', async () => {
  const { result } = await course(withScratchpad(), "final_answer([uncertain('u'), explore('e'), commit(3), typeof commit()])");
  expect(result.finalValue).toEqual(['u', 'e', 3, 'undefined']);
});

test('a failed cell keeps its own stored values, a cell that was ended only those of earlier cells', async () => {
  const one = withScratchpad();
  expect((await course(one, "store('a', 1); throw 1")).result.scratchpad?.values).toEqual({ a: 1 });
  const waiting = await one.begin("store('b', 2); orders(1)", MOMENT);
  expect(waiting.type).toBe('calls');
  const ended = one.resume([{ value: 1 }]);
  await one.kill();
  expect(await ended).toMatchObject({ type: 'ended', result: { scratchpad: { values: { a: 1 } } } });
  expect((await course(one, '1')).result.scratchpad).toEqual({ values: {}, observations: [], failed: [] });
});

test.each([
  ["store('a', () => 1)", 'TypeError: The value of "a" is a function'],
  ['store(1, 2)', 'TypeError: store takes a name'],
  ["store('a', 'x'.repeat(64_000))", 'TypeError: The value of "a" has more than 64000 characters'],
  ["store('a', 'x'.repeat(40_000)); store('b', 'x'.repeat(40_000))", 'Error: The scratchpad has no room for this'],
  ["for (;;) observe('x'.repeat(1_000))", 'Error: The scratchpad has no room for this'],
])('%s is an error in the code, and keeps the scratchpad within its bound', async (code, message) => {
  const { result } = await course(withScratchpad(), code);
  expect(result.error?.message).toContain(message);
  expect(JSON.stringify(result.scratchpad).length).toBeLessThanOrEqual(64_000);
});

test('reading the names of a cell changes no scratchpad', async () => {
  const one = withScratchpad();
  const reads =
    "Object.defineProperty(globalThis, 'reads', { enumerable: true, configurable: true, get() { store('read', 1); return 1 } })";
  expect((await course(one, reads)).result.scratchpad?.values).toEqual({});
});

test('a scratchpad exists only if it is enabled', async () => {
  const { result } = await course(executor(), 'print(typeof store, typeof memory, typeof commit)');
  expect(result.output).toBe('undefined undefined undefined');
  expect('scratchpad' in result).toBe(false);
});
