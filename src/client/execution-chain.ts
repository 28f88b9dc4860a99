import type { Client } from '@temporalio/client';
import { GRPC, grpcCode } from './grpc-code.ts';
import { runHistory } from './run-history.ts';

/** The executions that a run consists of. */
export interface ExecutionChain {
  /** Temporal's run ids, the oldest first. */
  executionIds: string[];
  /** False where the server has removed earlier executions: its retention period is over. */
  complete: boolean;
}

/** Walks a run back from one of its executions to the first: each that continued-as-new is named by the one after it. */
export async function executionChain(client: Client, workflowId: string, lastExecutionId: string): Promise<ExecutionChain> {
  const executionIds = [lastExecutionId];
  for (;;) {
    const before = await beginningOf(client, workflowId, executionIds[0]);
    if (before === 'first') return { executionIds, complete: true };
    if (before === 'gone') return { executionIds: executionIds.slice(1), complete: false };
    executionIds.unshift(before.continued);
  }
}

/** How an execution began, by the first event of its history. */
async function beginningOf(client: Client, workflowId: string, executionId?: string): Promise<'first' | 'gone' | { continued: string }> {
  try {
    for await (const event of runHistory(client, workflowId, executionId)) {
      const continued = event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
      return continued ? { continued } : 'first';
    }
    return 'gone';
  } catch (error) {
    if (grpcCode(error) === GRPC.notFound) return 'gone';
    throw error;
  }
}
