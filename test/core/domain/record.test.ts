import { describe, expect, it, test } from 'vitest';
import {
  addEvent,
  type Event,
  incrementStep,
  newEvent,
  newExecutionContext,
  recordsInOrder,
  setState,
} from '../../../src/core/domain/record.ts';
import { hasToolCalls, newStep, newToolCallRecord } from '../../../src/core/domain/tool-calls.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';

describe('an execution context', () => {
  it('begins empty', () => {
    expect(newExecutionContext('run-1')).toEqual({ executionId: 'run-1', events: [], currentStep: 0, state: {}, finalResult: null });
  });

  it('shares no data with another', () => {
    const [first, second] = [newExecutionContext('1'), newExecutionContext('2')];
    addEvent(first, { id: 'e', executionId: '1', timestamp: '2023-11-14T22:13:20.000Z', author: 'user', content: [] });
    incrementStep(first);
    setState(first, 'k', 1);
    expect(second).toEqual(newExecutionContext('2'));
  });

  it('takes any key into its state as data', () => {
    const context = newExecutionContext('1');
    setState(context, '__proto__', { polluted: true });
    setState(context, 'k', 1);
    setState(context, 'k', 2);
    expect(Object.getPrototypeOf(context.state)).toBe(Object.prototype);
    expect(JSON.stringify(context.state)).toBe('{"__proto__":{"polluted":true},"k":2}');
  });
});

describe('a step', () => {
  it('has no thought, calls or usage and finished by stop by default', () => {
    expect(newStep(3)).toEqual({ step: 3, thought: null, toolCalls: [], usage: null, finishReason: 'stop' });
  });

  it('has tool calls if there is at least one', () => {
    const record = newToolCallRecord('search', 'c1', '2026-01-01T00:00:00.000Z');
    expect(record).toMatchObject({ arguments: {}, result: '', isError: false, durationMs: null });
    expect([newStep(1), { ...newStep(1), toolCalls: [record] }].map(hasToolCalls)).toEqual([false, true]);
  });
});

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

test('the messages that a run was started with complete no step', () => {
  const given = [call, result, said].map((one) => ({ ...one, id: `given ${one.id}`, given: true as const }));
  const ids = given.map(({ id }) => id);
  expect(order([...given, question, call, result, said], 2)).toEqual([...ids, 'question', 'call', 'result', 1, 'said', 2]);
});

test('no step is lost, for any position of its event', () => {
  expect(order([question], 2)).toEqual(['question', 1, 2]);
});
