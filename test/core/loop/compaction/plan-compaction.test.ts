import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import { emptyWindow, extendWindow, isEvicted, type Window } from '../../../../src/core/domain/window.ts';
import { planEviction, planSummary, planUnseenEviction } from '../../../../src/core/capabilities/compaction.ts';
import { call, message } from '../fakes/fake-ports.ts';

/** A window of a first message and one exchange for each entry: a text, or calls with results of this many characters. */
function windowOf(exchanges: (string | number[])[]): Window {
  let window = emptyWindow();
  const add = (author: string, content: ContentItem[]): void => {
    window = extendWindow(window, { id: `e${window.through}`, author, content });
  };
  add('user', [{ type: 'message', role: 'user', content: 'Q' }]);
  exchanges.forEach((exchange, place) => {
    if (typeof exchange === 'string') return add('a', [message(exchange)]);
    const ids = exchange.map((_, index) => `c${place}-${index}`);
    add(
      'a',
      ids.map((id) => call(id, 't')),
    );
    add(
      'a',
      ids.map((toolCallId, index) => ({
        type: 'tool_result',
        toolCallId,
        name: 't',
        status: 'success',
        content: ['r'.repeat(exchange[index] ?? 0)],
      })),
    );
    return undefined;
  });
  return window;
}

const ALL = { keepResults: 0, keepFrom: Infinity };

describe('eviction', () => {
  it('takes the oldest results first, and only as many as necessary', () => {
    const window = windowOf([[1_000], [1_000, 1_000], [1_000]]);
    expect(planEviction(window, { ...ALL, bytes: window.bytes - 1_000 })).toEqual([
      [2, 0],
      [4, 0],
    ]);
  });

  it('keeps the newest results, however large', () => {
    const window = windowOf([[1_000], [1_000], [1_000]]);
    expect(planEviction(window, { bytes: 0, keepResults: 2, keepFrom: Infinity })).toEqual([[2, 0]]);
    expect(planEviction(window, { bytes: 0, keepResults: 9, keepFrom: Infinity })).toEqual([]);
  });

  it('keeps results that the model has not seen', () => {
    expect(planEviction(windowOf([[1_000], [1_000]]), { bytes: 0, keepResults: 0, keepFrom: 4 })).toEqual([[2, 0]]);
  });

  it('keeps results that are no larger than the marker', () => {
    expect(planEviction(windowOf([[5], [1_000]]), { ...ALL, bytes: 0 })).toEqual([[4, 0]]);
  });
});

describe('eviction of results that the model has not seen', () => {
  const window = windowOf([[1_000], [1_000, 1_000, 1_000]]);

  it('does nothing if they fit with a summary of the rest', () => {
    expect(planUnseenEviction(window, 4, { mostBytes: 4_000, goalBytes: 2_000 })).toEqual([]);
  });

  it('takes the oldest of them first if they do not fit', () => {
    expect(planUnseenEviction(window, 4, { mostBytes: 3_000, goalBytes: 2_000 })).toEqual([
      [4, 0],
      [4, 1],
    ]);
  });

  it('does nothing if it would not be enough: then everything is summarized', () => {
    expect(planUnseenEviction(window, 4, { mostBytes: 300, goalBytes: 200 })).toEqual([]);
  });
});

const GOAL = { tailBytes: 0, keptBytes: 0, keepResults: 0, unseenBytes: 0, unseenFrom: Infinity, leastBytes: 0 };

describe('the summarized part', () => {
  it('is everything after the first message if nothing may stay', () => {
    expect(planSummary(windowOf(['one', [10]]), GOAL)).toEqual({ head: 0, tail: null, events: 3 });
  });

  it('is everything after the results of the first event where a run was started with calls', () => {
    const started = windowOf([[1_000], 'one', 'two']).events.slice(1);
    const window = { ...windowOf([]), events: started };
    expect(planSummary(window, GOAL)).toEqual({ head: 2, tail: null, events: 2 });
    expect(planSummary({ ...window, events: started.slice(0, 2) }, GOAL)).toBeUndefined();
  });

  it('leaves a tail that fits', () => {
    expect(planSummary(windowOf(['x'.repeat(1_000), 'two', 'three']), { ...GOAL, tailBytes: 500 })).toEqual({
      head: 0,
      tail: 2,
      events: 1,
    });
  });

  it('leaves the newest results, with their calls, up to a separate maximum size', () => {
    const window = windowOf([[1_000], [1_000], [1_000], 'text']);
    expect(planSummary(window, { ...GOAL, tailBytes: 200, keptBytes: 5_000, keepResults: 2 })?.tail).toBe(3);
    expect(planSummary(window, { ...GOAL, tailBytes: 200, keptBytes: 2_000, keepResults: 2 })?.tail).toBe(5);
  });

  it('leaves the part that the model has not seen, up to a separate maximum size', () => {
    const window = windowOf([[1_000], [1_000]]);
    expect(planSummary(window, { ...GOAL, unseenFrom: 4, unseenBytes: 2_000 })?.tail).toBe(3);
  });

  it('is empty if a summary would save nothing: a summary is not summarized again', () => {
    const window = windowOf(['a summary', [1_000]]);
    expect(planSummary(window, { ...GOAL, tailBytes: 1_300, leastBytes: 300 })).toBeUndefined();
    expect(planSummary(windowOf([]), GOAL)).toBeUndefined();
    expect(planSummary(emptyWindow(), GOAL)).toBeUndefined();
  });
});

const exchange = fc.oneof(
  fc.constantFrom(1, 50, 800).map((length) => 't'.repeat(length)),
  fc.array(fc.constantFrom(1, 50, 300, 2_000), { minLength: 1, maxLength: 4 }),
);
const anyWindow = fc.array(exchange, { maxLength: 10 }).map(windowOf);
const bytes = fc.constantFrom(0, 100, 1_000, 3_000, 10_000);

const summaryGoal = fc.record({
  tailBytes: bytes,
  keptBytes: bytes,
  unseenBytes: bytes,
  keepResults: fc.nat(3),
  unseenFrom: fc.nat(20),
  leastBytes: fc.constant(0),
});

describe('every plan', () => {
  it('evicts a prefix of the results, never the newest ones that are kept', () =>
    fc.assert(
      fc.property(anyWindow, bytes, fc.nat(4), (window, goal, keepResults) => {
        const evicted = planEviction(window, { bytes: goal, keepResults, keepFrom: Infinity });
        const after = extendWindow(window, { id: 'x', author: 'a', content: [], compaction: { evicted } });
        const large = window.events.flatMap(({ content }, place) =>
          content.flatMap((item, index) =>
            item.type === 'tool_result' && JSON.stringify(item.content).length > 100 ? [[place, index] as const] : [],
          ),
        );
        const gone = large.map(([place, index]) => {
          const item = after.events[place]?.content[index];
          return item?.type === 'tool_result' && isEvicted(item);
        });
        expect(gone.lastIndexOf(true)).toBeLessThan(Math.max(0, large.length - keepResults));
        expect(gone.slice(0, gone.lastIndexOf(true) + 1)).not.toContain(false);
        expect(after.bytes <= goal || gone.filter(Boolean).length === Math.max(0, large.length - keepResults)).toBe(true);
      }),
    ));

  it('never separates a call from its result, and never summarizes the first message', () =>
    fc.assert(
      fc.property(anyWindow, summaryGoal, (window, goal) => {
        const range = planSummary(window, goal);
        if (range === undefined) return;
        const { head, tail } = range;
        const after = extendWindow(window, {
          id: 's',
          author: 'a',
          content: [message('summary')],
          compaction: { summarized: { head, tail } },
        });
        const items = after.events.flatMap(({ content }) => content);
        expect(items.slice(0, 2)).toEqual([...(window.events[0]?.content ?? []), message('summary')]);
        const asked = items.flatMap((item) => (item.type === 'tool_call' ? [item.toolCallId] : []));
        expect(items.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : []))).toEqual(asked);
        expect(after.events).toHaveLength(window.events.length - range.events + 1);
      }),
    ));
});
