import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { requireRun } from '../listing/foreign-workflow.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** How Temporal says that the workflow of a run ended which did not do its work. */
const FAILED = new Set(['FAILED', 'TERMINATED', 'TIMED_OUT']);

/**
 * The id of the newest execution of a run that has failed; undefined where it goes on or ended in another way, and where it
 * was deleted meanwhile. Throws `not_a_run` for a workflow of the user's own.
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
