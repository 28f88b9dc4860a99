import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../core/domain/errors.ts';
import { PROGRAM_RUN } from '../core/protocol.ts';
import type { RunAccess } from './run-access.ts';
import { requireRun } from './visibility.ts';

// What a start does about a run that has its id.

/** False for a run of another principal. */
export async function reaches(access: RunAccess | undefined, runId: string): Promise<boolean> {
  try {
    await access?.require(runId);
    return true;
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return false;
    throw error;
  }
}

/**
 * Throws `run_exists` if the run with that id is of another agent or program, or a session, and `not_a_run` for a workflow of the user's
 * own: whoever starts a run must not take another one for it. A run that was handed over is of the agent that it began with.
 */
export async function requireSameRun(client: Client, runId: string, { type, name }: { type: string; name: string }): Promise<void> {
  const [{ executionBeginning }, { nameOfBeginning }] = await Promise.all([
    import('../history/execution-reader.ts'),
    import('../history/read-run.ts'),
  ]);
  const existing = await executionBeginning(client, runId);
  // It was deleted meanwhile.
  if (existing === undefined) return;
  const { workflowType, isSession = false } = existing;
  requireRun(client, runId, workflowType);
  const existingName = nameOfBeginning(existing);
  if (workflowType === type && existingName === name && !isSession) return;
  const kind = isSession ? 'a session of agent' : runOf(workflowType);
  throw new LonghaulError(
    'run_exists',
    `Run "${runId}" exists already, and is ${kind} "${existingName}", not ${runOf(type)} "${name}": choose another run id`,
  );
}

function runOf(workflowType: string): string {
  return workflowType === PROGRAM_RUN ? 'a run of program' : 'a run of agent';
}
