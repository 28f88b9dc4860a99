import { describe, expect, test } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import { recordPage, type RecordQuestion } from '../../../src/core/queries/queries.ts';
import type { QueriedRun } from '../../../src/core/queries/run-views.ts';
import { newRunState } from '../../../src/core/kernel/run-state.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

const CLOCK = { now: () => 1_700_000_000_000, uuid: () => 'id' };

function event(number: number, text = `text ${number}`): Event {
  return {
    id: `e${number}`,
    executionId: 'r',
    timestamp: '1970-01-01T00:00:01.000Z',
    author: 'user',
    content: [{ type: 'message', role: 'user', content: text }],
  };
}

/** A run with events of this execution only, starting at offset 10. */
function run(events: Event[]): QueriedRun {
  const state = newRunState({ runId: 'r', snapshot: testSnapshot(), input: 'Q', startedAt: CLOCK.now() }, CLOCK);
  return { state: { ...state, context: { ...state.context, events }, firstOffset: 10 } } as unknown as QueriedRun;
}

const MANY = Array.from({ length: 250 }, (_, index) => event(index));
const ONE = jsonBytes(event(100));
const BYTES = 500_000;

describe('a part of the record for code of the user', () => {
  test.each<[string, RecordQuestion, { from: number; events: number; cut?: true }]>([
    ['the newest three', { last: 3, bytes: BYTES }, { from: 257, events: 3 }],
    ['more than there may be', { last: 1_000, bytes: BYTES }, { from: 60, events: 200 }],
    ['from an offset on, as many as without a word', { from: 12, bytes: BYTES }, { from: 12, events: 20 }],
    ['from an offset of an earlier execution', { from: 3, bytes: BYTES }, { from: 10, events: 20 }],
    ['from the last offset on', { from: 258, bytes: BYTES }, { from: 258, events: 2 }],
    ['from beyond the last offset on', { from: 400, bytes: BYTES }, { from: 400, events: 0 }],
    ['the newest of those from an offset on', { from: 258, last: 5, bytes: BYTES }, { from: 258, events: 2 }],
    ['the newest two of those from an offset on', { from: 250, last: 2, bytes: BYTES }, { from: 258, events: 2 }],
    ['the newest that have room', { last: 3, bytes: 2 * ONE }, { from: 258, events: 2, cut: true }],
    ['the first that have room', { from: 110, bytes: 2 * ONE }, { from: 110, events: 2, cut: true }],
    ['none that has room', { last: 1, bytes: 5 }, { from: 260, events: 0, cut: true }],
  ])('is bounded: %s', (_, question, { from, events, cut }) => {
    const page = recordPage(run(MANY), { ...question, steps: false });
    expect(page).toMatchObject({ from, firstOffset: 10, total: 260, steps: [] });
    expect(page.events.map(({ id }) => id)).toEqual(MANY.slice(from - 10, from - 10 + events).map(({ id }) => id));
    expect(page.cut).toBe(cut);
  });

  test('is never larger than the bound, whatever the query asks for', () => {
    const large = Array.from({ length: 20 }, (_, index) => event(index, 'x'.repeat(100_000)));
    expect(recordPage(run(large), { last: 20, bytes: 10_000_000, steps: false })).toMatchObject({ events: { length: 4 }, cut: true });
  });

  test('is empty before the agent is resolved', () => {
    const unresolved = { runId: 'r' } as QueriedRun;
    expect(recordPage(unresolved, { last: 3, bytes: BYTES })).toMatchObject({ events: [], from: 0, firstOffset: 0, total: 0 });
  });
});

test('a reader of the record that gives no bytes gets whole pages, which name their first offset', () => {
  expect(recordPage(run(MANY), { from: 15 })).toMatchObject({ from: 15, events: { length: 245 } });
  expect(recordPage(run(MANY), {})).toMatchObject({ from: 10, events: { length: 250 } });
});
