import { expect, test } from 'vitest';
import { dueIn, pauseBehind, settledPages, withFirstStatus } from '../../studio/pace.ts';

const runId = 'clerk-1';
const read = { runId, status: 'running', answers: 3, endedAt: 10_000, ms: 20 };

test('the facts of a run are reread at once if its status changes, and after a time if it has answered', () => {
  expect(dueIn(read, { runId, status: 'completed', answers: 3 }, 10_001)).toBe(0);
  // After four seconds plus a moment, when all pages that show the run read it.
  expect(dueIn(read, { runId, status: 'running', answers: 4 }, 10_500)).toBeGreaterThanOrEqual(3_500);
  expect(dueIn(read, { runId, status: 'running', answers: 4 }, 10_500)).toBeLessThan(4_500);
  expect(dueIn(read, { runId, status: 'running', answers: 9 }, 99_000)).toBe(0);
  expect(dueIn(read, { runId, status: 'running', answers: 3 }, 99_000)).toBeUndefined();
});

test('a reading that is under way is only given up for another status', () => {
  const underWay = { ...read, endedAt: undefined };
  expect(dueIn(underWay, { runId, status: 'running', answers: 9 }, 99_000)).toBeUndefined();
  expect(dueIn(underWay, { runId, status: 'completed', answers: 9 }, 99_000)).toBe(0);
});

test('the first status of a stream causes no further reading, but the next one does, and so does the end of the run', () => {
  const first = { ...read, status: '', answers: 0 };
  const begun = withFirstStatus(first, { runId, status: 'running', answers: 0 });
  expect(dueIn(begun, { runId, status: 'running', answers: 0 }, 10_001)).toBeUndefined();
  expect(dueIn(withFirstStatus(begun, { runId, status: 'paused', answers: 0 }), { runId, status: 'paused', answers: 0 }, 10_001)).toBe(0);
  const ended = { runId, status: 'completed', answers: 0 };
  expect(dueIn(withFirstStatus(first, ended), ended, 10_001)).toBe(0);
});

test('the longer it takes to read the facts of a run, the more seldom they are read, but within seconds', () => {
  expect([1, 40, 100, 300, 60_000].map(pauseBehind)).toEqual([4_000, 4_000, 10_000, 20_000, 20_000]);
});

test('pages of a timeline are reread if they are not full or have unfinished spans, as are the pages after them', () => {
  const ended = { to: '2026-11-01T00:00:01Z' };
  const full = { next: 5, spans: [ended, ended] };
  const open = { next: 9, spans: [ended, {}] };
  const last = { spans: [ended] };
  expect(settledPages([full, full, last], 1)).toEqual([full, full]);
  expect(settledPages([full, open, full, last], 1)).toEqual([full]);
  expect(settledPages([full, full], 1)).toEqual([full, full]);
  expect([settledPages([last], 1), settledPages([], 1)]).toEqual([[], []]);
});

test('a timeline is reread completely from time to time: old spans may become known late', () => {
  const pages = [{ next: 5, spans: [{ to: '2026-11-01T00:00:01Z' }] }];
  const taken = Array.from({ length: 11 }, (_, readings) => settledPages(pages, readings).length);
  expect(taken).toEqual([0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0]);
});

test('all pages that show a run read its facts at the same moment, and pages that show another run at another moment', () => {
  const momentOf = (id: string, endedAt: number): number => {
    const now = endedAt + 100;
    return now + (dueIn({ ...read, runId: id, endedAt }, { runId: id, status: 'running', answers: 9 }, now) ?? 0);
  };
  const ends = [10_000.5, 10_003, 10_007];
  const moments = ends.map((endedAt) => momentOf('clerk-1', endedAt));
  expect(new Set(moments).size).toBe(1);
  expect(momentOf('clerk-2', 10_000)).not.toBe(moments[0]);
});
