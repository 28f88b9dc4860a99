import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { withoutMemos } from './without-memos.ts';

/** The state of a run on the server: it goes on, has ended, or the server does not have it. */
export type RunState = 'open' | 'closed' | 'gone';

/** Returns the state of a run, or of one of its executions. */
export async function runState(client: Client, runId: string, executionId?: string): Promise<RunState> {
  try {
    const { status } = await withoutMemos(client).workflow.getHandle(runId, executionId).describe();
    if (status.name === 'RUNNING') return 'open';
    // During a switch, the newest execution may be the one that has just ended.
    return executionId === undefined && status.name === 'CONTINUED_AS_NEW' ? 'open' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    throw error;
  }
}
