import { expect, test } from 'vitest';
import { Numbering } from '../../src/client/export-run.ts';

test('each number is accepted once, and missing numbers are recorded as ranges', () => {
  const numbering = new Numbering();
  expect([2, 3, 3, 1, 7].map((number) => numbering.pass(number))).toEqual([true, true, false, false, true]);
  numbering.reach(8);
  numbering.reach(10);
  numbering.reach(4);
  expect(numbering.passed).toBe(3);
  expect(numbering.missing).toEqual([
    { from: 0, through: 2 },
    { from: 4, through: 7 },
    { from: 8, through: 10 },
  ]);
});
