import { expect, test } from 'vitest';
import { attemptsBefore, attemptsSince } from '../../../activities/bursts/run-burst.ts';
import { checkpointIn } from '../../../src/core/bursts/burst.ts';

/** What the server has of a burst that has stored nothing. */
const NOTHING = { attempt: 1 };

test.each([
  { what: 'the first attempt at a burst has no earlier one', stored: NOTHING, attempt: 1, before: 0 },
  { what: 'each attempt at a burst that has stored nothing may have begun the call', stored: NOTHING, attempt: 3, before: 2 },
  { what: 'the attempt that has stored the outcomes may have begun the next call', stored: { attempt: 1 }, attempt: 2, before: 1 },
  { what: 'so may those after it', stored: { attempt: 2 }, attempt: 5, before: 3 },
  { what: 'a call in flight counts as often as it was tried', stored: { attempt: 1, running: [['t1/0', 2]] }, attempt: 2, before: 2 },
  { what: 'and once for each attempt at the burst since then', stored: { attempt: 1, running: [['t1/0', 2]] }, attempt: 4, before: 4 },
  { what: 'another call in flight says nothing of it', stored: { attempt: 1, running: [['t1/1', 2]] }, attempt: 2, before: 1 },
])('attempts at a call that were lost with a worker: $what', ({ stored, attempt, before }) => {
  const checkpoint = checkpointIn(JSON.parse(JSON.stringify({ record: { entries: [] }, ...stored })))!;
  expect(attemptsBefore(checkpoint, attempt, 't1/0')).toBe(before);
});

test('a checkpoint contains only calls in flight', () => {
  const running = [['t1/0', 1], ['t1/1'], 't1/2', null];
  expect(checkpointIn({ record: { entries: [] }, attempt: 1, running })?.running).toEqual([['t1/0', 1]]);
});

test('outcomes that an attempt has only reread do not hide attempts at later calls', () => {
  // The first attempt at the burst has read, and was lost in the next call. The second one rereads for so long that a heartbeat is due.
  const read: [string, number] = ['t1/0', attemptsBefore({ attempt: 1 }, 2, 't1/0') + 1];
  const stored = attemptsSince([read], 2, 1);
  expect(stored).toEqual({ attempt: 1, running: [['t1/0', 1]] });
  expect(attemptsBefore(stored, 3, 't1/0')).toBe(2);
  expect(attemptsBefore(stored, 3, 'm3')).toBe(2);
  expect(attemptsSince([], 2, 2)).toEqual({ attempt: 2 });
});
