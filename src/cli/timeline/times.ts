import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { requireRun } from '../../client/visibility.ts';
import { failIfUnreachable } from '../../temporal/server-calls.ts';
import { checkRunId, runNotFound, withoutMemos } from '../../temporal/run-workflow.ts';
import { PROGRAM_RUN } from '../../core/protocol.ts';

/** The times of a run, and the kind of run. */
export interface RunTimes {
  start: Date;
  close: Date | undefined;
  /** True for the run of a program. */
  isProgram: boolean;
}

/**
 * Returns the start of a run's workflow and, if it has closed, its end. Throws `run_not_found`, and `not_a_run` for a
 * workflow of the user's own.
 */
export async function runTimes({ temporal }: LonghaulClient, runId: string): Promise<RunTimes> {
  return failIfUnreachable(temporal, async () => {
    try {
      const { startTime, closeTime, type } = await withoutMemos(temporal).workflow.getHandle(checkRunId(runId)).describe();
      requireRun(temporal, runId, type);
      return { start: startTime, close: closeTime, isProgram: type === PROGRAM_RUN };
    } catch (error) {
      if (error instanceof Error && error.name === 'WorkflowNotFoundError') throw runNotFound(temporal, runId);
      throw error;
    }
  });
}
