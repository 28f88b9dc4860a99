import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { type HistoryEvent, runHistory } from '../../src/history/history-events.ts';
import { sum } from '../figures/statistics.ts';

const { HistoryEvent: EncodedEvent } = proto.temporal.api.history.v1;

/** Yields the histories of all executions of a run, the newest first. */
async function* histories(client: Client, workflowId: string): AsyncGenerator<HistoryEvent[]> {
  for (let runId: string | null | undefined, first = true; first || runId; first = false) {
    const events: HistoryEvent[] = [];
    for await (const event of runHistory(client, workflowId, runId ?? undefined)) events.push(event);
    yield events;
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  }
}

/** Returns the bytes of each execution of a run. */
export async function executionBytes(client: Client, workflowId: string): Promise<number[]> {
  const bytes: number[] = [];
  for await (const events of histories(client, workflowId))
    bytes.push(sum(events.map((event) => EncodedEvent.encode(event).finish().length)));
  return bytes;
}

/** Returns the milliseconds from the scheduling of each activity of that name to the scheduling of the next activity, in one execution. */
export async function activityTurns(client: Client, workflowId: string, name: string): Promise<number[]> {
  const turns: number[] = [];
  for await (const events of histories(client, workflowId)) {
    const scheduled = events.filter((event) => event.activityTaskScheduledEventAttributes);
    scheduled.forEach((event, index) => {
      const next = scheduled[index + 1];
      if (next !== undefined && event.activityTaskScheduledEventAttributes?.activityType?.name === name)
        turns.push(timeOf(next) - timeOf(event));
    });
  }
  return turns;
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1_000_000;
}
