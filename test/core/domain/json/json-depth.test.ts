import { expect, test } from 'vitest';
import { depthProblem, isTooDeep, MAX_JSON_DEPTH } from '../../../../src/core/domain/json.ts';

/** So many nested lists. */
function nested(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

test('a value has at most 64 levels of lists and objects', () => {
  expect(MAX_JSON_DEPTH).toBe(64);
  expect(isTooDeep(nested(64))).toBe(false);
  expect(isTooDeep(nested(65))).toBe(true);
  expect(isTooDeep({ list: nested(63) })).toBe(false);
  expect(isTooDeep({ list: nested(64) })).toBe(true);
  expect(['text', 1, null, undefined, true].filter((value) => isTooDeep(value))).toEqual([]);
});

test('a million levels, and a value that contains itself, are found without recursion', () => {
  expect(isTooDeep(nested(900_000))).toBe(true);
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  expect(isTooDeep(cycle)).toBe(true);
});

test('a shared object is visited once per level, however many paths lead to it', () => {
  let reads = 0;
  let shared: object = {};
  for (let level = 1; level < 60; level += 1) {
    const inner = shared;
    shared = {
      get one() {
        reads += 1;
        return inner;
      },
      two: inner,
    };
  }
  expect(isTooDeep(shared)).toBe(false);
  expect(reads).toBeLessThan(60);
});

test('an object with a toJSON method is not visited', () => {
  expect(isTooDeep({ toJSON: () => 'short', deep: nested(100) })).toBe(false);
});

test('the problem names the member that is too deep', () => {
  expect(depthProblem({ id: 'a', content: nested(65) })).toContain('content: nested deeper than 64 levels');
  expect(depthProblem([1, nested(65)], 'list')).toContain('list[1]: nested deeper than 64 levels');
  expect(depthProblem({ id: 'a', content: nested(64) })).toBeUndefined();
});
