import { expect, test } from 'vitest';
import { course } from '../course.ts';
import { executor, ordersOf } from './opened-executors.ts';

test('outnumbered executors release their threads, and continue with all their state', async () => {
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
