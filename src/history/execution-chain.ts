import type { Client } from '@temporalio/client';
import { GRPC, grpcCode } from '../temporal/grpc-code.ts';
import { type HistoryEvent, runHistory } from './run-history.ts';

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
    const event = await startedEvent(client, workflowId, executionIds[0]);
    if (event === undefined) return { executionIds: executionIds.slice(1), complete: false };
    const before = continuedFrom(event);
    if (before === undefined) return { executionIds, complete: true };
    executionIds.unshift(before);
  }
}

/** How an execution began: the first event of its history alone. Undefined where the server does not have the execution any more. */
export async function startedEvent(client: Client, workflowId: string, executionId?: string): Promise<HistoryEvent | undefined> {
  try {
    for await (const event of runHistory(client, workflowId, executionId, 1)) return event;
    return undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** The execution that went on in the one that began with this event; undefined for the first of a run. */
export function continuedFrom(event: HistoryEvent): string | undefined {
  return event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
}

/** True for the error of a server that does not have an execution, or not any more. */
export function isGone(error: unknown): boolean {
  return grpcCode(error) === GRPC.notFound;
}
