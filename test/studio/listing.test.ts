import { expect, test, vi } from 'vitest';
import type { FeedItem, RunEntry } from '../../studio/api-types.ts';
import { changed, isBegunAgain, isDue, keepChecked, movedRuns, orderOf, pauseBefore, renewed } from '../../studio/listing.ts';

const runs = (...ids: string[]): RunEntry[] =>
  ids.map((runId) => ({ runId, kind: 'agent', status: 'running', startTime: '', waitingFor: [] }) as unknown as RunEntry);
const idsOf = (list: readonly RunEntry[]): string => list.map(({ runId }) => runId).join(' ');

test('waiting runs are listed rarely while the feed works, and never for a page that nobody sees', () => {
  const well = { isWell: true, isHidden: false };
  expect(isDue({ ...well, sinceMs: 15_000 })).toBe(false);
  expect(isDue({ ...well, sinceMs: 120_000 })).toBe(true);
  expect(isDue({ ...well, isWell: false, sinceMs: 15_000 })).toBe(true);
  expect(isDue({ isWell: false, isHidden: true, sinceMs: 1e9 })).toBe(false);
});

test('an event is listed at once, and many of them together', () => {
  const often = { least: 150, every: 1_000 };
  expect([60_000, 1_000, 400, 0].map((sinceMs) => pauseBefore({ ...often, sinceMs }))).toEqual([150, 150, 600, 1_000]);
});

test('the earliest deadline is first, and runs without a deadline follow, the oldest first', () => {
  const all = [{ requestedAt: '2026-11-02' }, { requestedAt: '2026-11-01' }, { requestedAt: '2026-11-03', deadlineAt: '2026-11-04' }];
  const sorted = all.toSorted((one, other) => orderOf(one).localeCompare(orderOf(other)));
  expect(sorted.map(({ requestedAt }) => requestedAt)).toEqual(['2026-11-03', '2026-11-01', '2026-11-02']);
});

test('the pages that a reader has opened stay when the first one is reread', () => {
  const before = { runs: runs('e', 'd', 'c', 'b', 'a'), next: 'behind a' };
  const after = renewed(before, { runs: runs('f', 'e', 'd'), next: 'behind d' });
  expect([idsOf(after.runs), after.next]).toEqual(['f e d c b a', 'behind a']);
});

test('a run that no longer matches leaves the list', () => {
  const before = { runs: runs('d', 'c', 'b', 'a'), next: 'behind a' };
  expect(idsOf(renewed(before, { runs: runs('d', 'b'), next: 'behind b' }).runs)).toBe('d b a');
});

test('a first page that is all there is, or has nothing in common, is the whole list', () => {
  const before = { runs: runs('c', 'b', 'a'), next: 'behind a' };
  expect(renewed(before, { runs: runs('c') })).toEqual({ runs: runs('c') });
  const other = { runs: runs('z', 'y'), next: 'behind y' };
  expect(renewed(before, other)).toBe(other);
  expect(renewed(undefined, other)).toBe(other);
});

test('a run that has ended is asked what waits only if something of it is shown', () => {
  const item = (type: string, runId: string): FeedItem => ({ type, run: { runId } }) as unknown as FeedItem;
  const items = [
    item('started', 'a'),
    item('waiting', 'b'),
    item('decided', 'c'),
    item('ended', 'd'),
    item('ended', 'e'),
    item('ended', 'f'),
  ];
  expect(movedRuns(items, [{ runId: 'e' }, { runId: 'f/1' }, { runId: 'dd' }])).toEqual(['b', 'c', 'e', 'f']);
});

test('a page that is looked at is requested at once, less often the longer nothing changes, and not at all once nobody looks', async () => {
  vi.useFakeTimers();
  try {
    const asked: number[] = [];
    const begunAt = Date.now();
    let answer = 'waits';
    const looking = new AbortController();
    const ask = async (): Promise<string> => {
      asked.push(Math.round((Date.now() - begunAt) / 1_000));
      return answer;
    };
    void keepChecked(ask, looking.signal);
    await vi.advanceTimersByTimeAsync(400_000);
    expect(asked).toEqual([0, 10, 30, 70, 150, 270, 390]);
    answer = 'waits for another one';
    await vi.advanceTimersByTimeAsync(141_000);
    expect(asked.slice(7)).toEqual([510, 520, 540]);
    looking.abort();
    const passedBy = new AbortController();
    void keepChecked(ask, passedBy.signal);
    await vi.advanceTimersByTimeAsync(100);
    passedBy.abort();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveLength(10);
  } finally {
    vi.useRealTimers();
  }
});

test('the usage of a run is outdated once it has ended or restarted, but not while it waits', () => {
  const fed = (type: 'started' | 'waiting' | 'ended', more: object = {}): FeedItem => ({
    type,
    run: { runId: 'a', status: 'running', waitingFor: [], startTime: '', ...more },
  });
  const [run] = runs('a').map((one): RunEntry => ({ ...one, steps: 2, tokens: 30, cost: 0.1, durationMs: 5, title: 'Lamps' }));
  expect(changed(run!, [{ type: 'gap' }])).toBe(run);
  expect(changed(run!, [fed('waiting', { status: 'pending_confirmation', waitingFor: ['refund'] })])).toMatchObject({
    status: 'pending_confirmation',
    waitingFor: ['refund'],
    tokens: 30,
    title: 'Lamps',
  });
  const ended = changed(run!, [fed('ended', { status: 'completed', endTime: '2026-11-01' })]);
  expect(ended).toEqual({ ...runs('a')[0], title: 'Lamps', status: 'completed', endTime: '2026-11-01' });
  expect(changed({ ...ended, tokens: 30 }, [fed('started')])).toEqual({ ...runs('a')[0], title: 'Lamps', endTime: null });
});

test('an ended run has restarted if a part of it has started after its end', () => {
  const item = (type: 'started' | 'ended', runId: string, startTime: string): FeedItem => ({
    type,
    run: { runId, waitingFor: [], startTime },
  });
  const run = { runId: 'a', endTime: '2026-11-01T10:00:05Z' };
  // The feed reports the start and the end that are shown.
  expect(isBegunAgain([item('started', 'a', '2026-11-01T10:00:00Z'), item('ended', 'a', '2026-11-01T10:00:00Z')], run)).toBe(false);
  expect(isBegunAgain([{ type: 'gap' }, item('started', 'b', '2026-11-01T11:00:00Z')], run)).toBe(false);
  expect(isBegunAgain([item('started', 'a', '2026-11-01T10:00:06.5Z')], run)).toBe(true);
  expect(isBegunAgain([item('started', 'a', '2026-11-01T10:00:00Z')], { ...run, endTime: null })).toBe(true);
});
