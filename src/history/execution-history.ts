import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { type HistoryEvent, runHistory } from './history-events.ts';

/** The whole history of one execution. */
export interface ExecutionHistory {
  events: HistoryEvent[];
}

/** Reads the history of one execution of a run, named by Temporal's run id. */
export async function executionHistory(client: Client, workflowId: string, executionId: string): Promise<ExecutionHistory> {
  const events: HistoryEvent[] = [];
  for await (const event of runHistory(client, workflowId, executionId)) events.push(event);
  return { events };
}

/** Returns a history in the format of `temporal workflow show --output json`, with payloads as the server has them. */
export function historyJson(history: ExecutionHistory): string {
  return historyToJSON(history);
}
