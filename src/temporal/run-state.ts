import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { withoutMemos } from './without-memos.ts';

/** The state of a run on the server: it goes on, has ended, or the server does not have it. */
export type RunState = 'open' | 'closed' | 'gone';

/** True if a run has ended whose newest execution has that status of Temporal. During a switch, the newest may be the one that has just ended. */
export function hasEndedAs(status: string): boolean {
  return status !== 'RUNNING' && status !== 'CONTINUED_AS_NEW';
}

/** Returns the state of a run, or of one of its executions. */
export async function runState(client: Client, runId: string, executionId?: string): Promise<RunState> {
  try {
    const { status } = await withoutMemos(client).workflow.getHandle(runId, executionId).describe();
    const isClosed = executionId === undefined ? hasEndedAs(status.name) : status.name !== 'RUNNING';
    return isClosed ? 'closed' : 'open';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    throw error;
  }
}
