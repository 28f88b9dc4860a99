import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { hasEndedAs } from '../../src/temporal/run-state.ts';

/**
 * True for a run that has ended, or that the server does not have. A run that goes on in another execution has not ended; one whose
 * first execution is not `firstRunId` is another run of the same id.
 */
export async function hasEnded(client: Client, runId: string, firstRunId?: string): Promise<boolean> {
  try {
    const { status, raw } = await client.workflow.getHandle(runId).describe();
    const first = raw.workflowExecutionInfo?.firstRunId || undefined;
    if (firstRunId !== undefined && first !== undefined && first !== firstRunId) return true;
    return hasEndedAs(status.name);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}
