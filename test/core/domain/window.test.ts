import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentItem, ToolResult } from '../../../src/core/domain/content.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { isUsedCallId } from '../../../src/core/domain/call-ids.ts';
import { emptyWindow, evictedResult, extendWindow, type Folded, isEvicted, type Window } from '../../../src/core/domain/window.ts';

function said(id: string, text = id): Folded {
  return { id, author: 'user', content: [{ type: 'message', role: 'user', content: text }] };
}

function asked(id: string, ...calls: string[]): Folded {
  return { id, author: 'a', content: calls.map((toolCallId) => ({ type: 'tool_call', toolCallId, name: 't', arguments: {} })) };
}

function answered(id: string, ...results: string[]): Folded {
  return { id, author: 'a', content: results.map((text, index) => result(`${id}-${index}`, text)) };
}

function result(toolCallId: string, text: string): ToolResult {
  return { type: 'tool_result', toolCallId, name: 't', status: 'success', content: [text] };
}

function fold(events: readonly Folded[], from: Window = emptyWindow()): Window {
  return events.reduce(extendWindow, from);
}

/** The texts of the window, if it has any. */
function texts({ events }: Window): unknown[] {
  return events.flatMap(({ content }) => content.map((item) => (item.type === 'tool_call' ? item.toolCallId : textOf(item))));
}

function textOf(item: Exclude<ContentItem, { type: 'tool_call' }>): unknown {
  return item.type === 'tool_result' ? item.content[0] : item.content;
}

describe('the window of a run', () => {
  it('has every event with its offset, until something is removed', () => {
    const window = fold([said('Q'), asked('e1', 'c1'), answered('e2', 'found')]);
    expect(window.events.map(({ offset, id }) => [offset, id])).toEqual([
      [0, 'Q'],
      [1, 'e1'],
      [2, 'e2'],
    ]);
    expect(window).toMatchObject({ through: 3, lastEventId: 'e2' });
  });

  it('has a marker in place of an evicted result, with its tool and its size', () => {
    const window = fold([
      said('Q'),
      asked('e1', 'c1', 'c2'),
      answered('e2', 'x'.repeat(500), 'small'),
      { id: 'e3', author: 'a', content: [], compaction: { evicted: [[2, 0]] } },
    ]);
    expect(texts(window)).toEqual(['Q', 'c1', 'c2', '[removed to save space: the result of "t", 504 bytes]', 'small']);
    expect(window).toMatchObject({ through: 4, lastEventId: 'e3' });
    expect(window.events).toHaveLength(3);
  });

  it('counts the notes on a result, and has none beside a marker', () => {
    const noted = { ...result('c1', 'x'.repeat(500)), notes: ['n'.repeat(300)] };
    const window = fold([asked('e1', 'c1'), { id: 'e2', author: 'a', content: [noted] }]);
    expect(window.bytes).toBe(jsonBytes(window.events[0]?.content) + jsonBytes([noted]));
    const evicted = extendWindow(window, { id: 'e3', author: 'a', content: [], compaction: { evicted: [[1, 0]] } });
    expect(evicted.events[1]?.content).toEqual([
      { ...result('c1', ''), content: ['[removed to save space: the result of "t", 504 bytes]'] },
    ]);
  });

  it('has the summary in place of the events before it, and then the new events', () => {
    const summary: Folded = { ...said('e5', 'the summary'), compaction: { summarized: { head: 0, tail: 3 } } };
    const before = [said('Q'), asked('e1', 'c1'), answered('e2', 'one'), asked('e3', 'c2'), answered('e4', 'two')];
    expect(texts(fold([...before, summary, said('e6', 'new')]))).toEqual(['Q', 'the summary', 'c2', 'two', 'new']);
  });

  it('knows the ids of the calls that were removed, by whatever removed them', () => {
    const before = [said('Q'), asked('e1', 'call_0', 'call_0-2'), asked('e2', 'call_1'), asked('e3', 'call_0-3')];
    const removals: Folded[] = [
      { ...said('s', 'the summary'), compaction: { summarized: { head: 0, tail: 3 } } },
      { id: 's', author: 'a', content: [], compaction: { dropped: [1, 2] } },
      { id: 's', author: 'a', content: [], guardrails: { findings: [], blocked: [1, 2] } },
    ];
    expect(fold(before).usedCallIds).toBeUndefined();
    for (const removal of removals) {
      const { usedCallIds = [] } = fold([...before, removal, said('later')]);
      const isUsed = isUsedCallId(usedCallIds);
      expect(['call_0', 'call_0-2', 'call_1', 'call_0-3', 'call_2', 'call_1-2'].map(isUsed)).toEqual([
        true,
        true,
        true,
        false,
        false,
        false,
      ]);
    }
  });

  it('keeps what it knows of removed calls small, however many there were', () => {
    let window = fold([said('Q')]);
    const cleared = (id: string): Folded => ({ id, author: 'a', content: [], compaction: { summarized: { head: null, tail: null } } });
    for (let turn = 1; turn <= 400; turn += 1) {
      const counted = turn === 1 ? 'call_0' : `call_0-${turn}`;
      window = fold([asked(`e${turn}`, counted, `${turn}${'x'.repeat(50)}`), cleared(`c${turn}`)], window);
    }
    const isUsed = isUsedCallId(window.usedCallIds ?? []);
    expect(['call_0', 'call_0-2', 'call_0-400', 'call_0-401'].map(isUsed)).toEqual([true, true, true, false]);
    expect(jsonBytes(window.usedCallIds)).toBeLessThanOrEqual(1_002);
  });

  it('knows the ids of all calls that a server has numbered through', () => {
    const calls = Array.from({ length: 900 }, (_, count) => `functions.search:${count}`);
    const { usedCallIds = [] } = fold([
      said('Q'),
      asked('e1', ...calls),
      { ...said('s'), compaction: { summarized: { head: 0, tail: null } } },
    ]);
    const isUsed = isUsedCallId(usedCallIds);
    expect([...calls, 'functions.search:900', 'search'].filter((id) => !isUsed(id))).toEqual(['functions.search:900', 'search']);
  });

  it('has only the first message and the summary if everything was summarized, and a later summary replaces the first', () => {
    const first: Folded = { ...said('e2', 'summary 1'), compaction: { summarized: { head: 0, tail: null } } };
    const second: Folded = { ...said('e4', 'summary 2'), compaction: { summarized: { head: 0, tail: null } } };
    expect(texts(fold([said('Q'), said('more'), first, said('e3', 'later')]))).toEqual(['Q', 'summary 1', 'later']);
    expect(texts(fold([said('Q'), said('more'), first, said('e3', 'later'), second]))).toEqual(['Q', 'summary 2']);
  });

  it('is immutable: extending it makes another', () => {
    const before = fold([said('Q'), asked('e1', 'c1'), answered('e2', 'x'.repeat(500))]);
    const copy = structuredClone(before);
    extendWindow(before, { id: 'e3', author: 'a', content: [], compaction: { evicted: [[2, 0]] } });
    expect(before).toEqual(copy);
  });
});

describe('an evicted result', () => {
  it('keeps its call, its status and its place in the store', () => {
    const spilled = { store: 's', claim: {}, bytes: 9, sha256: '0' };
    const evicted = evictedResult({ ...result('c1', 'x'), status: 'error', spilled });
    expect(evicted).toMatchObject({ toolCallId: 'c1', name: 't', status: 'error', spilled });
    expect(isEvicted(evicted)).toBe(true);
  });

  it('is evicted once', () => {
    const evicted = evictedResult(result('c1', 'x'.repeat(500)));
    expect(evictedResult(evicted)).toBe(evicted);
  });

  it('is distinguished from a result that begins like the marker', () => {
    expect(isEvicted(result('c1', `[removed to save space: the result of "t", 504 bytes] ${'x'.repeat(500)}`))).toBe(false);
    expect(isEvicted(result('c1', '[removed to save space: the result of "other", 504 bytes]'))).toBe(false);
  });
});

/** Events of any kind. Compactions refer to offsets that may not exist. */
const event: fc.Arbitrary<Omit<Folded, 'id'>> = fc.oneof(
  fc.string().map((text) => said('', text)),
  fc.array(fc.string(), { minLength: 1, maxLength: 3 }).map((results) => answered('', ...results)),
  fc.constant<Folded>({ ...asked('', 'c'), providerItems: [{ reasoning: 'opaque' }] }),
  fc
    .array(fc.tuple(fc.nat(12), fc.nat(2)), { minLength: 1, maxLength: 4 })
    .map((evicted) => ({ author: 'a', content: [], compaction: { evicted } })),
  fc.tuple(fc.nat(5), fc.option(fc.integer({ min: 6, max: 12 }), { nil: null })).map(([head, tail]) => ({
    ...said('', 'summary'),
    compaction: { summarized: { head, tail } },
  })),
);
const record = fc.array(event, { minLength: 1, maxLength: 15 }).map((events) => events.map((one, index) => ({ ...one, id: `e${index}` })));

describe('every window', () => {
  it('is the same whether all events are folded, or a carried window is extended by the later events', () =>
    fc.assert(
      fc.property(record, fc.nat(15), (events, at) => {
        const carried = JSON.parse(JSON.stringify(fold(events.slice(0, at)))) as Window;
        expect(fold(events.slice(at), carried)).toEqual(fold(events));
      }),
    ));

  it('has its size in bytes, its number of events and the last of them', () =>
    fc.assert(
      fc.property(record, (events) => {
        const window = fold(events);
        const bytes = window.events.reduce(
          (sum, { content, providerItems }) => sum + jsonBytes(content) + (providerItems === undefined ? 0 : jsonBytes(providerItems)),
          0,
        );
        expect(window).toMatchObject({ bytes, through: events.length, lastEventId: events.at(-1)?.id });
      }),
    ));
});
