import { expect, test } from 'vitest';
import { course, executor, MOMENT, ordersOf } from './opened-executors.ts';

test('executors that many others outnumber give their threads back, and go on with all that they had', async () => {
  const all = Array.from({ length: 12 }, () => executor({}, { scratchpad: true }));
  for (const [index, one] of all.entries()) {
    await course(
      one,
      `let n = ${index}; const next = () => (n += 100); class C { #hidden = n; read() { return this.#hidden } } const c = new C();
      store('n', n);`,
    );
    one.inject('injected', index);
  }
  for (const [index, one] of all.entries()) {
    const { batches, result } = await course(one, 'print(next(), n, c.read(), recall("n"), injected, orders({ id: n }).id)');
    expect(result.output).toBe(`${index + 100} ${index + 100} ${index} ${index} ${index} ${index + 100}`);
    expect(batches).toEqual([ordersOf(index + 100)]);
  }
});

test('an executor at rest can be reset, checkpointed and restored', async () => {
  const first = executor();
  await course(first, 'let a = 1');
  const others = Array.from({ length: 10 }, () => executor());
  await Promise.all(others.map((one) => course(one, 'let b = 2')));
  const checkpoint = (await first.checkpoint?.()) ?? new Uint8Array();
  await first.reset();
  expect((await course(first, 'print(typeof a)')).result.output).toBe('undefined');
  await first.restore?.(checkpoint);
  expect((await course(first, 'print(a)')).result.output).toBe('1');
  const running = others.map((one) => one.begin('for (;;);', MOMENT));
  await Promise.all(others.map((one) => one.close()));
  for (const segment of await Promise.all(running)) expect(segment).toMatchObject({ result: { error: { kind: 'killed' } } });
});
