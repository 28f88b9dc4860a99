import { expect, test } from 'vitest';
import { dueIn, pauseBetween } from '../../studio/pace.ts';

const read = { status: 'running', answers: 3, at: 10_000 };

test('the facts of a run are read again at once if its status changes, and after a time if it has answered', () => {
  expect(dueIn(read, { status: 'completed', answers: 3 }, 10_001)).toBe(0);
  expect(dueIn(read, { status: 'running', answers: 4 }, 10_500)).toBe(1_500);
  expect(dueIn(read, { status: 'running', answers: 9 }, 99_000)).toBe(0);
  expect(dueIn(read, { status: 'running', answers: 3 }, 99_000)).toBeUndefined();
});

test('the longer a run is, the more seldom its facts are read', () => {
  expect([1, 40, 1_000].map(pauseBetween)).toEqual([2_000, 2_000, 50_000]);
});
