import proto from '@temporalio/proto';
import { describe, expect, it } from 'vitest';
import { edges, measureHistory } from '../../bench/figures/encoded-history.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';

const { HistoryEvent: Encoded } = proto.temporal.api.history.v1;
const { EventType } = proto.temporal.api.enums.v1;

const scheduled = (name: string): HistoryEvent => ({
  eventType: EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
  activityTaskScheduledEventAttributes: { activityType: { name } },
});
const completed = (bytes: number): HistoryEvent => ({
  eventType: EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
  activityTaskCompletedEventAttributes: { result: { payloads: [{ data: new Uint8Array(bytes) }] } },
});
const size = (...events: HistoryEvent[]): number => events.reduce((sum, event) => sum + Encoded.encode(event).finish().length, 0);

describe('the measure of a history', () => {
  const steps = [
    [scheduled('ask'), completed(10), scheduled('look'), completed(100)],
    [scheduled('ask'), completed(11), scheduled('look'), completed(200)],
  ];
  const history = [scheduled('prepare'), completed(5), ...steps.flat(), scheduled('ask'), completed(12)];

  it('counts the encoded bytes of every event', () => {
    const measured = measureHistory(history, 'ask');
    expect(measured.events).toBe(12);
    expect(measured.bytes).toBe(size(...history));
    expect(Object.values(measured.bytesByType).reduce((sum, bytes) => sum + bytes, 0)).toBe(measured.bytes);
    expect(Object.keys(measured.bytesByType)).toEqual(['activity_task_completed', 'activity_task_scheduled']);
  });

  it('begins a step at each model call, and leaves out the part before the first and the final answer', () => {
    expect(measureHistory(history, 'ask').stepBytes).toEqual(steps.map((events) => size(...events)));
  });

  it('compares the first 20 steps with the last 20', () => {
    const bytes = [...Array.from({ length: 20 }, () => 100), 5_000, ...Array.from({ length: 20 }, () => 102)];
    expect(edges(bytes)).toEqual({ first20: 100, last20: 102 });
    expect(edges([1, 3])).toEqual({ first20: 2, last20: 2 });
  });
});
