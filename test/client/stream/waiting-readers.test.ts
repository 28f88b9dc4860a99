import { afterEach, expect, it, vi } from 'vitest';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';

const OF: StreamedAttempt = { executionId: 'execution-1', eventId: 'answer', through: 0, activity: 1, attempt: 1 };

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Reads to the end in the background. */
function collect(run: FakeRun): StreamItem[] {
  const items: StreamItem[] = [];
  void (async () => {
    for await (const item of feedsOf(run).stream()) items.push(item);
  })();
  return items;
}

it('a reader that waits keeps nothing of the waits that are over', async () => {
  const race = vi.spyOn(Promise, 'race');
  const run = new FakeRun();
  const items = collect(run);
  await turn();
  run.publish({ type: 'attempt', of: OF });
  for (let index = 0; index < 50; index += 1) {
    run.publish({ type: 'delta', of: OF, index, delta: { type: 'text', text: 'x' } });
    await turn();
  }
  run.end();
  await vi.waitFor(() => expect(items.at(-1)?.type).toBe('end'));
  const waits = new Map<unknown, number>();
  for (const [values] of race.mock.calls) for (const value of values) waits.set(value, (waits.get(value) ?? 0) + 1);
  // A promise that stays open keeps every race that it takes part in.
  expect(Math.max(0, ...waits.values())).toBeLessThan(5);
});

it('what is announced at about the same time is asked for once', async () => {
  vi.useFakeTimers();
  const run = new FakeRun({ gatherMs: 15 });
  vi.spyOn(run, 'sources').mockReturnValue({ ...run.sources(), news: { ...run.sources().news, pauseMs: () => 30_000 } });
  const items = collect(run);
  await vi.advanceTimersByTimeAsync(1);
  const before = run.reads;
  run.record('answer', [], { usage: noUsage() });
  run.announce();
  await vi.advanceTimersByTimeAsync(5);
  run.record('results', []);
  run.announce();
  await vi.advanceTimersByTimeAsync(50);
  expect(items.filter(({ type }) => type === 'event')).toHaveLength(2);
  expect(run.reads - before).toBe(1);
});
