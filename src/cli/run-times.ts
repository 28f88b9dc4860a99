import type { LonghaulClient } from '../client/longhaul-client.ts';
import { runNotFound } from '../client/run-outcome.ts';
import { withoutMemos } from '../client/without-memos.ts';

/** When a run's workflow started, and when it closed, where it has. Throws `run_not_found`. */
export async function runTimes({ temporal }: LonghaulClient, runId: string): Promise<{ start: Date; close: Date | undefined }> {
  try {
    const { startTime, closeTime } = await withoutMemos(temporal).workflow.getHandle(runId).describe();
    return { start: startTime, close: closeTime };
  } catch (error) {
    if (error instanceof Error && error.name === 'WorkflowNotFoundError') throw runNotFound(temporal, runId);
    throw error;
  }
}
