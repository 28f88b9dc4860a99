import type { Client } from '@temporalio/client';
import { executionHistory, type ExecutionHistory } from '../../../src/history/history-events.ts';

/** Reads the histories of all executions of a workflow, the oldest first. */
export async function readChain(client: Client, workflowId: string): Promise<ExecutionHistory[]> {
  const chain: ExecutionHistory[] = [];
  let { runId: executionId } = await client.workflow.getHandle(workflowId).describe();
  while (executionId !== '') {
    const history = await executionHistory(client, workflowId, executionId);
    chain.unshift(history);
    executionId = history.events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  }
  return chain;
}
