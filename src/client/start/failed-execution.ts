import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { requireRun } from '../listing/foreign-workflow.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** Temporal's statuses of a workflow that ended without doing its work. */
const FAILED = new Set(['FAILED', 'TERMINATED', 'TIMED_OUT']);

/**
 * Returns the id of the newest execution of a failed run; undefined if the run goes on, ended in another way, or was deleted
 * meanwhile. Throws `not_a_run` for a workflow of the user's own.
 */
export async function failedExecution(client: Client, runId: string): Promise<string | undefined> {
  try {
    const { status, runId: executionId, type } = await withoutMemos(client).workflow.getHandle(runId).describe();
    requireRun(client, runId, type);
    return FAILED.has(status.name) ? executionId : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
