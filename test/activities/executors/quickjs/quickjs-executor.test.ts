import { afterAll, expect, test } from 'vitest';
import { quickjsExecutor } from '../../../../activities/executors/quickjs/quickjs-executor.ts';
import type { ExecutionLimits } from '../../../../src/core/domain/code.ts';
import type { ExecutionResult, Executor } from '../../../../src/core/domain/execution.ts';

const MOMENT = { now: Date.UTC(2026, 0, 2), seed: 7 };

const opened: Executor[] = [];

function executor(limits: Partial<ExecutionLimits> = {}): Executor {
  const made = quickjsExecutor({ limits: { maxMemoryMb: 32, ...limits } });
  opened.push(made);
  return made;
}

afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
});

/** Runs cells in order in one executor, and returns the last result. */
async function runAll(cells: readonly string[], one = executor()): Promise<ExecutionResult> {
  const results: ExecutionResult[] = [];
  for (const cell of cells) results.push(await one.run(cell, MOMENT));
  return results.at(-1) as ExecutionResult;
}

test('printed text is the output, with values as JSON', async () => {
  const result = await runAll(['const x = 4 + 3; print(x, "a", { b: [1, null] }); console.log(undefined, 2n, new TypeError("no"))']);
  expect(result).toMatchObject({ output: '7 a {"b":[1,null]}\nundefined 2 TypeError: no', success: true, isFinal: false, error: null });
});

test('the last final answer counts, and the next run has no answer', async () => {
  const one = executor();
  expect(await runAll(['final_answer(1); final_answer({ a: [2] }); print("on")'], one)).toMatchObject({
    isFinal: true,
    finalValue: { a: [2] },
    output: 'on',
  });
  expect(await runAll(['print(1)'], one)).toMatchObject({ isFinal: false, finalValue: null, success: true });
  expect(await runAll(['final_answer(null)'], one)).toMatchObject({ isFinal: true, finalValue: null });
  expect(await runAll(['final_answer(1); throw new Error("then")'], one)).toMatchObject({
    isFinal: false,
    finalValue: null,
    success: false,
  });
  expect(await runAll(['final_answer(() => 1)'], one)).toMatchObject({ isFinal: false, error: { kind: 'runtime' } });
});

test('names live on, closures see their changes, and a name that is declared again is replaced', async () => {
  const one = executor();
  const declared = 'let n = 1; const f = () => n; function inc() { n += 1 } class C { id = 3 } var v = [1]';
  await runAll([declared, 'inc(); n *= 10; v.push(2)'], one);
  expect((await runAll(['print(n, f(), new C().id, v)'], one)).output).toBe('20 20 3 [1,2]');
  const result = await runAll(['let n = "again"; const f = 5', 'print(n, f)'], one);
  expect(result.output).toBe('again 5');
  expect(result.namespace).toEqual({
    n: { type: 'string', value: 'again' },
    f: { type: 'number', value: 5 },
    inc: { type: 'function' },
    C: { type: 'function' },
    v: { type: 'object', value: [1, 2] },
  });
});

test('values that are too large for the namespace are left out, and those that JSON changes are as JSON writes them', async () => {
  const result = await runAll([
    `const large = Array.from({ length: 70 }, () => new Uint8Array(2 ** 18)), long = 'x'.repeat(70_000), many = new Array(70_000).fill(1);
     const changed = { f() {}, u: undefined, v: new DataView(new ArrayBuffer(8)), n: NaN, d: new Date(0), l: [undefined, () => 1] }, self = {}; self.self = self;`,
  ]);
  expect(result.namespace).toEqual({
    large: { type: 'object' },
    long: { type: 'string' },
    many: { type: 'object' },
    changed: { type: 'object', value: { v: {}, n: null, d: '1970-01-01T00:00:00.000Z', l: [null, null] } },
    self: { type: 'object' },
  });
});

test('a constant of an earlier run stays one', async () => {
  expect(await runAll(['const a = 1', 'a = 2'])).toMatchObject({
    error: { kind: 'runtime', message: expect.stringContaining('TypeError') },
  });
});

test('a failed run keeps its output, declares nothing, and does not change earlier names', async () => {
  const result = await runAll(['let a = 1', 'print("so far"); let a = 2, b = 3; throw new Error("no")']);
  expect(result).toMatchObject({ output: 'so far', namespace: {}, success: false, error: { kind: 'runtime', message: 'Error: no' } });
  expect((await runAll(['let a = 1', 'let a = 2, b; throw 1', 'print(a, typeof b)'])).output).toBe('1 undefined');
});

test.each([
  ['import_not_allowed', "print(1); import('fs')"],
  ['syntax', 'print(1); let = ;'],
  ['undefined_name', 'missing + 1'],
  ['runtime', 'null.a'],
  ['runtime', 'await new Promise(() => {})'],
  ['runtime', 'throw null'],
  ['runtime', 'throw { get message() { throw 1 } }'],
  ['runtime', '(function f() { f() })()'],
  ['memory', 'const a = []; for (;;) a.push(new Uint8Array(1e6))'],
  ['memory', '"x".repeat(5e8)'],
  ['syntax', '['.repeat(50_000)],
  ['syntax', ' '.repeat(100_001)],
])('%s is the kind of %j', async (kind, code) => {
  expect(await runAll([code])).toMatchObject({ output: '', success: false, isFinal: false, error: { kind } });
});

test('output is cut to its bytes, also in a run that fails', async () => {
  const one = executor({ maxOutputBytes: 10 });
  expect((await runAll(["print('é'.repeat(50))"], one)).output).toBe('ééééé\n[OUTPUT TRUNCATED]');
  expect((await runAll(["print('x'.repeat(50)); null.a"], one)).output).toBe('xxxxxxxxxx\n[OUTPUT TRUNCATED]');
  expect((await runAll(["for (let i = 0; i < 1e5; i += 1) print('flood')"], one)).output).toBe('flood\nfloo\n[OUTPUT TRUNCATED]');
});

test('more output than a frame has room for is refused as a limit', () => {
  expect(() => quickjsExecutor({ limits: { maxOutputBytes: 1_000_000 } })).toThrow('The limit "maxOutputBytes" of the executor is 1000000');
});

test('the clock and the random numbers of a run follow from its moment', async () => {
  const code = 'print(Date.now(), new Date().getHours(), performance.now() - performance.now(), Math.random(), [1, 2, 3].map(Math.random))';
  const [first, second] = await Promise.all([runAll([code]), runAll(['Math.random()', code])]);
  expect(first.output).toBe(second.output);
  expect(first.output).toMatch(/^1767312000000 0 0 0\.\d+ /);
  const later = await executor().run(code, { now: 5_000, seed: 8 });
  expect(later.output).toMatch(/^5000 0 0 0\.\d+ /);
  expect(later.output.split(' ')[3]).not.toBe(first.output.split(' ')[3]);
});

test('an injected value is a name of the runs that follow', async () => {
  const one = executor();
  one.inject('order', { id: 4, lines: ['a'] });
  expect((await runAll(['order.id += 1; print(order)', 'print(order)'], one)).output).toBe('{"id":5,"lines":["a"]}');
  expect(() => one.inject('order', { at: new Date(0) as unknown as string })).toThrow(
    '"order" cannot be injected: order.at is an object of a class',
  );
  expect(() => one.inject('a-b', 1)).toThrow('it is not a variable name');
  expect(() => one.inject('class', 1)).toThrow('it is not a variable name');
  expect(() => one.inject('print', 1)).toThrow('the executor has a function of this name');
  one.inject('fixed', 1);
  await runAll(["Object.defineProperty(globalThis, 'fixed', { value: 2, configurable: false, writable: false })"], one);
  one.inject('fixed', 3);
  expect(await runAll(['print(fixed)'], one)).toMatchObject({ output: '', error: { kind: 'runtime' } });
});

test('code that does not ask if it should stop is ended with its thread, and its output is kept', async () => {
  const result = await runAll(["print('before'); new Array(1e9) + ''"], executor({ timeoutSeconds: 0.3 }));
  expect(result).toMatchObject({ output: 'before', timeout: true, error: { kind: 'timeout', message: 'Execution timed out after 0.3s' } });
});

test('a loop is interrupted at its time limit, all names are lost, and the next run reports that once', async () => {
  const one = executor({ timeoutSeconds: 0.2 });
  expect(await runAll(['let a = 1; try { for (;;); } finally { print("no") }'], one)).toMatchObject({ output: '', timeout: true });
  one.inject('b', 2);
  expect(await runAll(['print(typeof a, b)'], one)).toMatchObject({ output: 'undefined 2', success: true, emptiedBy: 'timeout' });
  expect(await runAll(['print(b)'], one)).toMatchObject({ output: '2', emptiedBy: null });
});

test('values that were injected before a timeout are lost with all other names, and a reset does not count as a loss', async () => {
  const one = executor({ timeoutSeconds: 0.2 });
  one.inject('a', 1);
  await runAll(['for (;;);'], one);
  expect(await runAll(['print(typeof a)'], one)).toMatchObject({ output: 'undefined', emptiedBy: 'timeout' });
  await runAll(['for (;;);'], one);
  await one.reset();
  expect(await runAll(['print(1)'], one)).toMatchObject({ output: '1', emptiedBy: null });
});

test('a process that does not read a flood of output still gets its end', async () => {
  const one = executor({ timeoutSeconds: 0.2 });
  await runAll(['print(1)'], one);
  const running = runAll(["for (;;) print('flood')"], one);
  // This thread reads nothing until long after the time limit.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
  const result = await running;
  expect(result).toMatchObject({ timeout: true, success: false });
  expect(result.output.length).toBeLessThanOrEqual(64_001);
});

test('kill of an executor that runs nothing changes nothing', async () => {
  const one = executor();
  one.inject('x', 1);
  await one.kill();
  expect(await one.run('let y = x + 1; print(x)', MOMENT)).toMatchObject({ output: '1', success: true });
  await one.kill();
  expect(await one.run('print(y)', MOMENT)).toMatchObject({ output: '2', success: true });
});

test('kill ends what runs, and the executor can be used again', async () => {
  const one = executor({ timeoutSeconds: 0 });
  await runAll(['print(1)'], one);
  const running = runAll(["print('so far'); for (;;);"], one);
  await expect(one.run('2', MOMENT)).rejects.toThrow('The executor is running code');
  expect(() => one.inject('a', 1)).toThrow('The executor is running code');
  await one.kill();
  expect(await running).toMatchObject({ error: { kind: 'killed' }, success: false, timeout: false });
  expect(await runAll(['print(4)'], one)).toMatchObject({ output: '4', emptiedBy: 'killed' });
});

test('work that code did not wait for ends in its own run', async () => {
  const one = executor();
  const first = await runAll(["Promise.resolve().then(() => { print('late'); final_answer(1) }); throw new Error('first')"], one);
  expect(first).toMatchObject({ output: 'late', isFinal: false });
  expect(await runAll(['print(2)'], one)).toMatchObject({ output: '2', isFinal: false });
});
