import { expect, test } from 'vitest';
import { dueIn, pauseBehind, settledPages } from '../../studio/pace.ts';

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

test('of a timeline, the pages are read again that are not full, or in which something has not ended, and those behind', () => {
  const ended = { to: '2026-11-01T00:00:01Z' };
  const full = { next: 5, spans: [ended, ended] };
  const open = { next: 9, spans: [ended, {}] };
  const last = { spans: [ended] };
  expect(settledPages([full, full, last])).toEqual([full, full]);
  expect(settledPages([full, open, full, last])).toEqual([full]);
  expect(settledPages([full, full])).toEqual([full, full]);
  expect([settledPages([last]), settledPages([])]).toEqual([[], []]);
});
