import fc from 'fast-check';
import { expect, test } from 'vitest';
import { injectionProblem } from '../../../src/core/domain/execution.ts';

class Order {
  readonly id = 1;
}

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

test.each([
  [undefined, 'value is undefined, which is not JSON'],
  [{ a: [1, undefined] }, 'value.a[1] is undefined, which is not JSON'],
  [{ rate: NaN }, 'value.rate is NaN, which JSON has no number for'],
  [{ 'a b': { count: 1n } }, 'value["a b"].count is a bigint, which is not JSON'],
  [{ run: () => 1 }, 'value.run is a function, which is not JSON'],
  [{ at: new Date(0) }, 'value.at is an object of a class, which is not JSON'],
  [{ order: new Order() }, 'value.order is an object of a class, which is not JSON'],
  [{ [Symbol('hidden')]: 1 }, 'value has a member that is named by a symbol, which is not JSON'],
  // oxlint-disable-next-line no-sparse-arrays -- The hole is the case.
  [[1, , 2], 'value[1] is missing, which JSON cannot say'],
])('%o is refused with its path', (value, problem) => {
  expect(injectionProblem(value, 'value')).toBe(problem);
});

test('a getter is refused, and not run', () => {
  const withGetter = {
    get price(): number {
      throw new Error('a getter was run');
    },
  };
  expect(injectionProblem(withGetter, 'value')).toBe('value.price is computed by a getter, which is not JSON');
});

test('a value that contains itself is refused for its depth', () => {
  expect(injectionProblem(cyclic, 'value')).toContain('nested deeper than 64 levels');
});

test('JSON is accepted as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      expect(injectionProblem(value, 'value')).toBeUndefined();
    }),
  );
});
