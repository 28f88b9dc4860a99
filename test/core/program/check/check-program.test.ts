import { expect, test } from 'vitest';
import { FULL, problemsOf, warningsOf } from './programs.ts';

test('a program with every kind of step has no problems', () => {
  expect(problemsOf(FULL)).toEqual([]);
  expect(warningsOf(FULL)).toEqual([]);
});
