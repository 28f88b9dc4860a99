import { expect, test } from 'vitest';
import { dueIn, pauseBehind } from '../../studio/pace.ts';

const read = { status: 'running', answers: 3, endedAt: 10_000, ms: 20 };

test('the facts of a run are read again at once if its status changes, and after a time if it has answered', () => {
  expect(dueIn(read, { status: 'completed', answers: 3 }, 10_001)).toBe(0);
  expect(dueIn(read, { status: 'running', answers: 4 }, 10_500)).toBe(1_500);
  expect(dueIn(read, { status: 'running', answers: 9 }, 99_000)).toBe(0);
  expect(dueIn(read, { status: 'running', answers: 3 }, 99_000)).toBeUndefined();
});

test('a reading that is under way is only given up for another status', () => {
  const underWay = { ...read, endedAt: undefined };
  expect(dueIn(underWay, { status: 'running', answers: 9 }, 99_000)).toBeUndefined();
  expect(dueIn(underWay, { status: 'completed', answers: 9 }, 99_000)).toBe(0);
});

test('the longer it takes to read the facts of a run, the more seldom they are read, but within seconds', () => {
  expect([1, 40, 100, 300, 60_000].map(pauseBehind)).toEqual([2_000, 2_000, 5_000, 15_000, 15_000]);
});
