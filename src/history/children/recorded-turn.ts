import type { Client } from '@temporalio/client';
import type { TurnResultFields } from '../../core/domain/sessions/session-state.ts';
import { readExecution } from '../read-run.ts';

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
