import type { Client } from '@temporalio/client';
import { LonghaulError } from '../core/domain/errors.ts';
import type { RunResultFields } from '../core/domain/result.ts';
import type { TurnResultFields } from '../core/domain/sessions.ts';
import { runOutcome } from '../temporal/run-outcome.ts';
import { readExecution } from './read-run.ts';

/** Returns the result of a turn of a session from its histories, the newest first. Undefined if the turn has not ended, or if the server has removed its history. */
export async function recordedTurn(client: Client, sessionId: string, turn: number): Promise<TurnResultFields | undefined> {
  const { runId } = await client.workflow.getHandle(sessionId).describe();
  let executionId: string | undefined = runId;
  while (executionId !== undefined) {
    const read = await readExecution(client, sessionId, executionId);
    const result = read?.run.state?.turns?.find((one) => one.turn === turn);
    if (result !== undefined) return result;
    executionId = read?.continuedFrom;
  }
  return undefined;
}

/**
 * Returns the result of a turn of a session that has ended. If the session ended without ending the turn, for instance because its agent
 * could not be resolved, that is the result of the session. Throws `run_ended` if it was closed before the turn, `run_terminated` and
 * `run_timed_out`.
 */
export async function turnOfEndedSession(client: Client, sessionId: string, turn: number): Promise<RunResultFields | TurnResultFields> {
  const recorded = await recordedTurn(client, sessionId, turn);
  if (recorded !== undefined) return recorded;
  const result = await runOutcome(client, sessionId);
  if ((result.turns ?? turn) >= turn) return result;
  throw new LonghaulError('run_ended', `Session "${sessionId}" ended before its turn ${turn}: begin another session`);
}
