import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';

/**
 * True for a run that has ended, or that the server does not have. A run that goes on in another execution has not ended; one whose
 * first execution is not `firstRunId` is another run of the same id.
 */
export async function hasEnded(client: Client, runId: string, firstRunId?: string): Promise<boolean> {
  try {
    const { status, raw } = await client.workflow.getHandle(runId).describe();
    const first = raw.workflowExecutionInfo?.firstRunId || undefined;
    if (firstRunId !== undefined && first !== undefined && first !== firstRunId) return true;
    // During a switch, the newest execution may be the one that has just ended.
    return status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}
