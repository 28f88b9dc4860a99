import { expect, test } from 'vitest';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import { type Event, newEvent, recordsInOrder } from '../../../../src/core/domain/record.ts';
import { newStep } from '../../../../src/core/domain/tool-calls.ts';

function event(id: string, content: ContentItem[], more: Partial<Event> = {}): Event {
  return { ...newEvent({ id, now: 0 }, 'r', 'a', content), ...more };
}

const question = event('question', [{ type: 'message', role: 'user', content: 'Q' }]);
const call = event('call', [{ type: 'tool_call', toolCallId: 'c', name: 't', arguments: {} }], { usage: null });
const result = event('result', [{ type: 'tool_result', toolCallId: 'c', name: 't', status: 'success', content: [] }]);
const said = event('said', [{ type: 'message', role: 'assistant', content: 'A' }], { usage: null });

/** Offsets of events and numbers of steps, in order. */
function order(events: Event[], steps: number, firstStep = 0): (string | number)[] {
  const recorded = Array.from({ length: steps }, (_, index) => newStep(firstStep + index + 1));
  const records = [...recordsInOrder({ firstOffset: 7, events, firstStep, steps: recorded })];
  expect(records.flatMap((record) => (record.type === 'event' ? [record.offset] : []))).toEqual(events.map((_, place) => place + 7));
  expect(records.flatMap((record) => (record.type === 'step' ? [record.index + 1 - record.step] : []))).toEqual(Array(steps).fill(0));
  return records.map((record) => (record.type === 'event' ? record.id : record.step));
}

test('a step comes after the results of its calls, or after an answer without calls', () => {
  expect(order([question, call, result, said], 2)).toEqual(['question', 'call', 'result', 1, 'said', 2]);
});

test('a step comes after its results if its response is in the execution before', () => {
  expect(order([result, call], 1, 4)).toEqual(['result', 5, 'call']);
});

test('summaries, evictions and interrupted answers are not steps', () => {
  const summary = event('summary', [{ type: 'message', role: 'user', content: 'S' }], { usage: null, compaction: {} });
  const half = event('half', [{ type: 'message', role: 'assistant', content: 'A' }], { usage: null, interrupted: true });
  expect(order([question, summary, said, half], 1)).toEqual(['question', 'summary', 'said', 1, 'half']);
});

test('what a run was started with completes no step', () => {
  const given = [call, result, said].map((one) => ({ ...one, id: `given ${one.id}`, given: true as const }));
  const ids = given.map(({ id }) => id);
  expect(order([...given, question, call, result, said], 2)).toEqual([...ids, 'question', 'call', 'result', 1, 'said', 2]);
});

test('no step is lost, for any position of its event', () => {
  expect(order([question], 2)).toEqual(['question', 1, 2]);
});
