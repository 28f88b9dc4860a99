import type { Client } from '@temporalio/client';
import { type HistoryEvent, runHistory } from '../../src/history/history-events.ts';
import { measureHistory } from './encoded-history.ts';
import type { StoredHistory } from '../comparison/peer-phases.ts';
import { sum } from './statistics.ts';

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
