import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';

/** True for a run that has ended, or that the server does not have. A run that goes on in another execution has not ended. */
export async function hasEnded(client: Client, runId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(runId).describe();
    // During a switch, the newest execution may be the one that has just ended.
    return status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}
