import { getClient } from '@temporalio/activity';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { TurnQuestion, TurnView } from '../../src/core/domain/sessions/session-views.ts';
import { QUERIES } from '../../src/core/protocol.ts';
import { recordedTurn, turnOfEndedSession } from '../../src/history/recorded-turn.ts';
import { queryHandle } from './access.ts';
import { hasEnded } from './has-ended.ts';

/**
 * Reads the result of a turn of a session for the run that keeps it. Null while the turn goes on. A session that ended without
 * ending the turn gives its own result. Throws `run_ended` if it was closed before the turn, the reason if it was terminated, and
 * `history_removed` if the server does not have the turn any more.
 */
export async function readTurn(sessionId: string, turn: number): Promise<RunResultFields | null> {
  const client = getClient();
  if (await hasEnded(client, sessionId)) return { ...(await turnOfEndedSession(client, sessionId, turn)), steps: [] };
  const handle = client.workflow.getHandle(sessionId);
  const view = await queryHandle(QUERIES.turn, () => handle.query<TurnView, [TurnQuestion]>(QUERIES.turn, { turn }));
  if (view.result === undefined && (view.running === turn || view.turns < turn)) return null;
  const result = view.result ?? (await recordedTurn(client, sessionId, turn));
  if (result !== undefined) return { ...result, steps: [] };
  throw new LonghaulError('history_removed', `The server has removed turn ${turn} of session "${sessionId}": its retention period is over`);
}
