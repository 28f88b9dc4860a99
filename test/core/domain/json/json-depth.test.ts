import { expect, test } from 'vitest';
import { depthProblem, isTooDeep, MAX_JSON_DEPTH } from '../../../../src/core/domain/json/json-depth.ts';

/** So many lists inside each other. */
function nested(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

test('a value has 64 levels of lists and objects at most', () => {
  expect(MAX_JSON_DEPTH).toBe(64);
  expect(isTooDeep(nested(64))).toBe(false);
  expect(isTooDeep(nested(65))).toBe(true);
  expect(isTooDeep({ list: nested(63) })).toBe(false);
  expect(isTooDeep({ list: nested(64) })).toBe(true);
  expect(['text', 1, null, undefined, true].filter((value) => isTooDeep(value))).toEqual([]);
});

test('a million levels, and a value inside itself, are found too deep without a call for each level', () => {
  expect(isTooDeep(nested(900_000))).toBe(true);
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  expect(isTooDeep(cycle)).toBe(true);
});

test('an object that is shared is looked at once per level, however many ways lead to it', () => {
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

test('what says itself how it is written as JSON is not looked into', () => {
  expect(isTooDeep({ toJSON: () => 'short', deep: nested(100) })).toBe(false);
});

test('the problem names the member that is too deep', () => {
  expect(depthProblem({ id: 'a', content: nested(65) })).toContain('content: nested deeper than 64 levels');
  expect(depthProblem([1, nested(65)], 'list')).toContain('list[1]: nested deeper than 64 levels');
  expect(depthProblem({ id: 'a', content: nested(64) })).toBeUndefined();
});
