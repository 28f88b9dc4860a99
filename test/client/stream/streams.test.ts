import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { fold, newView, type StreamView } from '../../../src/client/stream/stream-view.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';
import { act, acts } from './acted-run.ts';
import { FakeRun } from './fake-run.ts';

/** A reader that waits forever is reported with its plan, instead of as a test that does not end. */
const BOUNDED: fc.Parameters<unknown> = { timeout: 10_000, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true };

/**
 * The number of items after which a reader is cut off each time. It then continues from the last cursor, in the same process or another.
 */
const cuts = fc.array(fc.record({ items: fc.integer({ min: 1, max: 7 }), sameProcess: fc.boolean() }), { maxLength: 12 });

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The items that one reader has got over all its streams. */
interface Reading {
  view: StreamView;
  items: StreamItem[];
}

describe('the stream of a run', () => {
  it('shows the whole record once, and nothing twice, whatever is lost and wherever its readers are cut', async () => {
    let retries = 0;
    await fc.assert(
      fc.asyncProperty(acts, fc.array(cuts, { minLength: 1, maxLength: 3 }), async (all, readers) => {
        const run = new FakeRun();
        const feeds = feedsOf(run);
        const reading = readers.map((plan) => readWithCuts(run, feeds, plan));
        await act(run, all, pause);
        for (const { view, items } of await Promise.all(reading)) {
          expect(view.events).toEqual(run.events);
          expect(view.steps).toEqual(run.steps);
          expect(view).toMatchObject({ live: [], status: 'completed', result: { output: 'done' } });
          expect(offsetsOf(items)).toEqual(run.events.map((_, offset) => offset));
          expect(new Set(items.map(({ cursor }) => cursor)).size).toBe(items.length);
          expectDeltasOnce(items);
          retries += expectResets(items);
        }
      }),
      { ...BOUNDED, numRuns: 300 },
    );
    // About two thousand attempts begin after another one whose output was shown.
    expect(retries).toBeGreaterThan(200);
  }, 90_000);

  it('holds every delta of an answer before its event, if nothing gets lost', async () => {
    await fc.assert(
      fc.asyncProperty(acts, cuts, async (all, plan) => {
        const run = new FakeRun();
        const lossless = all.flatMap((one) => (one.type === 'lost' ? [] : [one.type === 'answer' ? { ...one, lost: [] } : one]));
        const feeds = feedsOf(run);
        const reading = readWithCuts(run, feeds, plan);
        await act(run, lossless, async () => {
          for (let turn = 0; turn < 3; turn += 1) await pause();
        });
        const { items } = await reading;
        expect(items.filter(({ type }) => type === 'gap')).toEqual([]);
        expectWholeAnswers(items);
      }),
      { ...BOUNDED, numRuns: 100 },
    );
  }, 90_000);
});

async function readWithCuts(
  run: FakeRun,
  feeds: ReturnType<typeof feedsOf>,
  plan: { items: number; sameProcess: boolean }[],
): Promise<Reading> {
  const items: StreamItem[] = [];
  let view = newView();
  let process = feeds;
  for (const { items: most, sameProcess } of [...plan, { items: Infinity, sameProcess: false }]) {
    let left = most;
    for await (const item of process.stream(view.cursor)) {
      items.push(item);
      view = fold(view, item);
      if (item.type === 'end') return { view, items };
      left -= 1;
      if (left === 0) break;
    }
    if (!sameProcess) process = feedsOf(run);
  }
  throw new Error('The stream has ended without an end');
}

function offsetsOf(items: readonly StreamItem[]): number[] {
  return items.flatMap((item) => (item.type === 'event' ? [item.offset] : []));
}

/** The deltas of an attempt come in their order, each once, and none after the event that replaces them or after another attempt. */
function expectDeltasOnce(items: readonly StreamItem[]): void {
  const seen = new Set<string>();
  const replaced = new Set<string>();
  for (const item of items) {
    if (item.type === 'event') replaced.add(item.event.id);
    if (item.type !== 'delta') continue;
    expect(replaced).not.toContain(item.eventId);
    const text = JSON.stringify([item.eventId, item.callId, item.attempt, item.delta]);
    expect(seen).not.toContain(text);
    seen.add(text);
  }
}

/**
 * The first delta of another attempt of a call follows a reset that names its step and its attempt and discards the shown output, and no
 * reset discards the deltas of an attempt that continues. Returns the number of those attempts.
 */
function expectResets(items: readonly StreamItem[]): number {
  const shown = new Map<string | undefined, { delta: Delta; reset?: Attempt }>();
  const retries: { reset: Attempt | undefined; expected: Attempt | undefined }[] = [];
  for (const item of items) {
    if (item.type === 'event') {
      for (const [callId, { delta }] of shown) if (replaces(item.event, delta)) shown.delete(callId);
    } else if (item.type === 'reset') {
      const before = shown.get(item.callId);
      if (before !== undefined) before.reset = { step: item.step, attempt: item.attempt };
    } else if (item.type === 'delta') {
      const { step, attempt, eventId, callId } = item;
      const before = shown.get(callId);
      const isSame = before?.delta.eventId === eventId && before.delta.attempt === attempt;
      if (before !== undefined && (!isSame || before.reset !== undefined)) {
        retries.push({ reset: before.reset, expected: isSame ? undefined : { step, attempt } });
      }
      shown.set(callId, { delta: item });
    }
  }
  expect(retries.map(({ reset }) => reset)).toEqual(retries.map(({ expected }) => expected));
  return retries.length;
}

type Delta = StreamItem & { type: 'delta' };

interface Attempt {
  step: number;
  attempt: number;
}

/** True for the event of the answer of the attempt, or of the result of its tool. */
function replaces({ id, content }: Event, { eventId, callId }: Delta): boolean {
  return callId === undefined ? id === eventId : content.some((one) => one.type === 'tool_result' && one.toolCallId === callId);
}

/** Folds the deltas, and compares what was live with the event that replaced it, wherever the reader had seen deltas of it at all. */
function expectWholeAnswers(items: readonly StreamItem[]): void {
  const live: string[] = [];
  const recorded: string[] = [];
  let view = newView();
  for (const item of items) {
    const before = item.type === 'event' ? view.live.find(({ eventId }) => eventId === item.event.id) : undefined;
    if (item.type === 'event' && before !== undefined) recorded.push(textOf(item.event));
    if (before !== undefined) live.push(before.text);
    view = fold(view, item);
  }
  expect(live).toEqual(recorded);
}

function textOf({ content }: Event): string {
  return content.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join('');
}
