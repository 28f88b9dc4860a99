import { expect, test } from 'vitest';
import {
  EMPTY_SCRATCHPAD,
  scratchpadContext,
  storedValue,
  withFailedApproach,
  withObservation,
  withStoredValue,
} from '../../../../src/core/domain/code.ts';

test('a value is recalled by its name, and null is a value', () => {
  const scratchpad = withStoredValue(withStoredValue(EMPTY_SCRATCHPAD, 'k', 41), 'none', null);
  expect(storedValue(scratchpad, 'k')).toBe(41);
  expect(storedValue(scratchpad, 'none', 7)).toBeNull();
});

test('a name without a value gives null, or the value for this case', () => {
  expect(storedValue(EMPTY_SCRATCHPAD, 'k')).toBeNull();
  expect(storedValue(EMPTY_SCRATCHPAD, 'k', 7)).toBe(7);
  expect(storedValue(EMPTY_SCRATCHPAD, 'toString', 7)).toBe(7);
});

test('a value that is stored again replaces the one before, at its place', () => {
  const scratchpad = withStoredValue(withStoredValue(withStoredValue(EMPTY_SCRATCHPAD, 'a', 1), 'b', 2), 'a', 3);
  expect(Object.entries(scratchpad.values)).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
});

test('a name like __proto__ is a name', () => {
  expect(storedValue(withStoredValue(EMPTY_SCRATCHPAD, '__proto__', 1), '__proto__')).toBe(1);
});

test('an empty working memory has no text', () => {
  expect(scratchpadContext(EMPTY_SCRATCHPAD, 'javascript')).toBe('');
});

test('each section that has entries is shown, in this order', () => {
  const scratchpad = withFailedApproach(withObservation(withStoredValue(EMPTY_SCRATCHPAD, 'k', 41), 'saw it'), 'Step 1: boom');
  expect(scratchpadContext(scratchpad, 'javascript')).toBe(
    '## Working Memory\n\n### Stored Values\n- k: 41\n\n### Observations\n- saw it\n\n### Failed Approaches (avoid these)\n- Step 1: boom',
  );
});

test('a section without entries is left out', () => {
  expect(scratchpadContext(withFailedApproach(EMPTY_SCRATCHPAD, 'x'), 'javascript')).toBe(
    '## Working Memory\n\n### Failed Approaches (avoid these)\n- x',
  );
});

test('a value is cut at 100 characters, and observations are whole', () => {
  const scratchpad = withObservation(withStoredValue(EMPTY_SCRATCHPAD, 'k', 'x'.repeat(200)), 'o'.repeat(200));
  expect(scratchpadContext(scratchpad, 'javascript')).toBe(
    `## Working Memory\n\n### Stored Values\n- k: '${'x'.repeat(99)}...\n\n### Observations\n- ${'o'.repeat(200)}`,
  );
});

test('a value of exactly 100 characters is whole', () => {
  expect(scratchpadContext(withStoredValue(EMPTY_SCRATCHPAD, 'k', 'x'.repeat(98)), 'javascript')).toContain(`- k: '${'x'.repeat(98)}'`);
});
