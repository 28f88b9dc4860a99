import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QuestionPace } from '../../../src/client/stream/question-pace.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const STEPS = 200;
const STEP_MS = 20;

test('a run of quick steps is queried now and then instead of for each step, and its readers get every event and step in order', async () => {
  const run = new FakeRun();
  vi.spyOn(run, 'sources').mockReturnValue({
    ...run.sources(),
    news: { ...run.sources().news, pauseMs: (announced) => (announced ? 30_000 : 1) },
  });
  const items: StreamItem[] = [];
  void (async () => {
    for await (const item of feedsOf(run).stream()) items.push(item);
  })();
  await vi.advanceTimersByTimeAsync(1);
  const before = run.reads;
  for (let step = 0; step < STEPS; step += 1) {
    const of: StreamedAttempt = { executionId: 'execution-1', eventId: `answer-${step}`, through: step, activity: step, attempt: 1 };
    run.publish({ type: 'attempt', of });
    run.publish({ type: 'delta', of, index: 0, delta: { type: 'text', text: `${step}` } });
    run.record(`answer-${step}`, [{ type: 'message', role: 'assistant', content: `${step}` }], { usage: noUsage() });
    run.announce();
    await vi.advanceTimersByTimeAsync(STEP_MS);
  }
  run.end();
  run.announce();
  await vi.advanceTimersByTimeAsync(1_000);
  const offsets = items.flatMap((item) => (item.type === 'event' ? [item.offset] : []));
  expect(offsets).toEqual(Array.from({ length: STEPS }, (_, index) => index));
  expect(items.filter(({ type }) => type === 'step')).toHaveLength(STEPS);
  expect(items.at(-1)?.type).toBe('end');
  // No delta comes after the event that has replaced it, because no reader could handle it.
  const replaced = new Set<string>();
  const late: string[] = [];
  for (const item of items) {
    if (item.type === 'event') replaced.add(item.event.id);
    if (item.type === 'delta' && replaced.has(item.eventId)) late.push(item.eventId);
  }
  expect(late).toEqual([]);
  // A page of this run has three events. Without a pace, each step would be a question, and each live output another one.
  expect(run.reads - before).toBeLessThan(STEPS / 3 + 40);
});

test('the first queries follow each other at once, and further ones at intervals', () => {
  const pace = new QuestionPace({ atOnce: 3, everyMs: 100 });
  const waits: number[] = [];
  let now = 10_000;
  for (let question = 0; question < 6; question += 1) {
    const waitMs = Math.max(0, pace.nextAt - now);
    waits.push(waitMs);
    now += waitMs;
    pace.asked(now);
  }
  expect(waits).toEqual([0, 0, 0, 100, 100, 100]);
  // Who has not asked for a while may ask at once again.
  now += 1_000;
  expect(pace.nextAt).toBeLessThan(now);
});
