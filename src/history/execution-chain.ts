import type { Client } from '@temporalio/client';
import { GRPC, grpcCode } from '../temporal/grpc-code.ts';
import { type HistoryEvent, runHistory } from './history-events.ts';

/** The executions that a run consists of. */
export interface ExecutionChain {
  /** Temporal's run ids, the oldest first. */
  executionIds: string[];
  /** False if the server has removed earlier executions because their retention period is over. */
  complete: boolean;
}

/**
 * Returns the executions of a run, found from one of them back to the first: each execution names the one before it.
 */
export async function executionChain(client: Client, workflowId: string, lastExecutionId: string): Promise<ExecutionChain> {
  const executionIds = [lastExecutionId];
  for (;;) {
    const event = await startedEvent(client, workflowId, executionIds[0]);
    if (event === undefined) return { executionIds: executionIds.slice(1), complete: false };
    const before = continuedFrom(event);
    if (before === undefined) return { executionIds, complete: true };
    executionIds.unshift(before);
  }
}

/** Returns the first event of an execution's history, or undefined if the server no longer has the execution. */
export async function startedEvent(client: Client, workflowId: string, executionId?: string): Promise<HistoryEvent | undefined> {
  try {
    for await (const event of runHistory(client, workflowId, executionId, 1)) return event;
    return undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Returns the execution that continued as the one that begins with this event, or undefined for the first of a run. */
export function continuedFrom(event: HistoryEvent): string | undefined {
  return event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
}

/** True for the error of a server that does not have an execution, or no longer has it. */
export function isGone(error: unknown): boolean {
  return grpcCode(error) === GRPC.notFound;
}
