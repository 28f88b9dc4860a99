import proto from '@temporalio/proto';
import { type HistoryEvent, runHistory } from '../../src/history/history-events.ts';
import { mean, sum } from './statistics.ts';
import type { Client } from '@temporalio/client';

const { HistoryEvent: EncodedEvent } = proto.temporal.api.history.v1;
const { EventType } = proto.temporal.api.enums.v1;

/** The measurements of a history: its events, and their size as the server stores them (encoded protobuf, no codec). */
export interface EncodedHistory {
  events: number;
  bytes: number;
  /** Bytes of each step: from the scheduling of its model call to the scheduling of the next one. The final answer is not a step. */
  stepBytes: number[];
  /** Bytes from the scheduling of the last model call to the end. */
  answerBytes: number;
  /** Bytes by type of event, over the whole history, the largest first. */
  bytesByType: Record<string, number>;
}

/** Measures a history. `modelActivity` is the type of the activity that calls the model: each begins a step, the last one the final answer. */
export function measureHistory(history: readonly HistoryEvent[], modelActivity: string): EncodedHistory {
  const stepBytes: number[] = [];
  const byType = new Map<string, number>();
  let bytes = 0;
  for (const event of history) {
    const size = EncodedEvent.encode(event).finish().length;
    bytes += size;
    const type = (EventType[event.eventType ?? 0] ?? 'unknown').replace('EVENT_TYPE_', '').toLowerCase();
    byType.set(type, (byType.get(type) ?? 0) + size);
    if (event.activityTaskScheduledEventAttributes?.activityType?.name === modelActivity) stepBytes.push(0);
    if (stepBytes.length > 0) stepBytes[stepBytes.length - 1] = (stepBytes.at(-1) ?? 0) + size;
  }
  return {
    events: history.length,
    bytes,
    stepBytes: stepBytes.slice(0, -1),
    answerBytes: stepBytes.at(-1) ?? 0,
    bytesByType: Object.fromEntries([...byType].toSorted(([, left], [, right]) => right - left)),
  };
}

/** The number of steps in the beginning and in the end of a run; shorter runs have fewer. */
export const EDGE_STEPS = 20;

/** The mean of the first and of the last 20 steps. */
export function edges(values: readonly number[]): { first20: number; last20: number } {
  return { first20: mean(values.slice(0, EDGE_STEPS)), last20: mean(values.slice(-EDGE_STEPS)) };
}

/** A run's history, over all executions of its chain. */
export interface StoredHistory {
  executions: number;
  events: number;
  bytes: number;
  /** Bytes before the first step, and of each step. */
  bytesBefore: number;
  stepBytes: number[];
}

/** Reads the histories of all executions of a run, the newest last, and measures them as one. */
export async function weighChain(client: Client, workflowId: string, modelActivity: string): Promise<StoredHistory> {
  const chain: HistoryEvent[][] = [];
  for (let runId: string | null | undefined, first = true; first || runId; first = false) {
    const events: HistoryEvent[] = [];
    for await (const event of runHistory(client, workflowId, runId ?? undefined)) events.push(event);
    chain.unshift(events);
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  }
  const { events, bytes, stepBytes, answerBytes } = measureHistory(chain.flat(), modelActivity);
  return { executions: chain.length, events, bytes, bytesBefore: bytes - sum(stepBytes) - answerBytes, stepBytes };
}
