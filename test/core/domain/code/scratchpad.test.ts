import { expect, test } from 'vitest';
import { approachFailed, EMPTY_SCRATCHPAD, observed, recalled, stored } from '../../../../src/core/domain/code/scratchpad.ts';
import { scratchpadContext } from '../../../../src/core/domain/code/scratchpad-context.ts';

test('a value is recalled by its name, and null is a value', () => {
  const scratchpad = stored(stored(EMPTY_SCRATCHPAD, 'k', 41), 'none', null);
  expect(recalled(scratchpad, 'k')).toBe(41);
  expect(recalled(scratchpad, 'none', 7)).toBeNull();
});

test('a name without a value gives null, or the value for this case', () => {
  expect(recalled(EMPTY_SCRATCHPAD, 'k')).toBeNull();
  expect(recalled(EMPTY_SCRATCHPAD, 'k', 7)).toBe(7);
  expect(recalled(EMPTY_SCRATCHPAD, 'toString', 7)).toBe(7);
});

test('a value that is stored again replaces the one before, at its place', () => {
  const scratchpad = stored(stored(stored(EMPTY_SCRATCHPAD, 'a', 1), 'b', 2), 'a', 3);
  expect(Object.entries(scratchpad.values)).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
});

test('a name like __proto__ is a name', () => {
  expect(recalled(stored(EMPTY_SCRATCHPAD, '__proto__', 1), '__proto__')).toBe(1);
});

test('an empty working memory has no text', () => {
  expect(scratchpadContext(EMPTY_SCRATCHPAD, 'javascript')).toBe('');
});

test('each section that has entries is shown, in this order', () => {
  const scratchpad = approachFailed(observed(stored(EMPTY_SCRATCHPAD, 'k', 41), 'saw it'), 'Step 1: boom');
  expect(scratchpadContext(scratchpad, 'javascript')).toBe(
    '## Working Memory\n\n### Stored Values\n- k: 41\n\n### Observations\n- saw it\n\n### Failed Approaches (avoid these)\n- Step 1: boom',
  );
});

test('a section without entries is left out', () => {
  expect(scratchpadContext(approachFailed(EMPTY_SCRATCHPAD, 'x'), 'javascript')).toBe(
    '## Working Memory\n\n### Failed Approaches (avoid these)\n- x',
  );
});

test('a value is cut at 100 characters, and observations are whole', () => {
  const scratchpad = observed(stored(EMPTY_SCRATCHPAD, 'k', 'x'.repeat(200)), 'o'.repeat(200));
  expect(scratchpadContext(scratchpad, 'javascript')).toBe(
    `## Working Memory\n\n### Stored Values\n- k: '${'x'.repeat(99)}...\n\n### Observations\n- ${'o'.repeat(200)}`,
  );
});

test('a value of exactly 100 characters is whole', () => {
  expect(scratchpadContext(stored(EMPTY_SCRATCHPAD, 'k', 'x'.repeat(98)), 'javascript')).toContain(`- k: '${'x'.repeat(98)}'`);
});
