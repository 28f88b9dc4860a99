import type { Client } from '@temporalio/client';
import { executionChain, executionHistory } from '../../src/history/history-events.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { measureHistory } from '../figures/encoded-history.ts';
import type { WeighedExecution } from './endless-figures.ts';

/** Measures the history of each execution of a run, the oldest first. Throws if the server has removed some. */
export async function weighExecutions(client: Client, workflowId: string): Promise<WeighedExecution[]> {
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const { executionIds, complete } = await executionChain(client, workflowId, runId);
  if (!complete) throw new Error(`The server has removed executions of run "${workflowId}"`);
  const weighed: WeighedExecution[] = [];
  for (const executionId of executionIds) {
    const { events: history } = await executionHistory(client, workflowId, executionId);
    const { events, bytes } = measureHistory(history, ACTIVITIES.callModel);
    const summaries = history.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === ACTIVITIES.summarize);
    weighed.push({ events, bytes, summaries: summaries.length });
  }
  return weighed;
}
