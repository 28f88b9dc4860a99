import { getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { TurnResultFields } from '../../src/core/domain/sessions/session-state.ts';
import type { TurnQuestion, TurnView } from '../../src/core/domain/sessions/session-views.ts';
import { QUERIES } from '../../src/core/protocol.ts';
import { recordedTurn, turnOfEndedSession } from '../../src/history/recorded-turn.ts';
import { queryHandle } from './access.ts';
import { hasEnded } from './has-ended.ts';

/**
 * Reads the result of a turn of a session for the run that keeps it. Null while the turn goes on. A session that ended without
 * ending the turn gives its own result. Throws `run_ended` if it has none for the turn, and the reason if it was terminated: the run
 * then waits no longer.
 */
export async function readTurn(sessionId: string, turn: number): Promise<RunResultFields | null> {
  const client = getClient();
  const result = (await hasEnded(client, sessionId))
    ? await unlessUnreadable(turnOfEndedSession(client, sessionId, turn))
    : await turnOfOpenSession(client, sessionId, turn);
  if (result === null) return null;
  if (result === undefined) throw new LonghaulError('run_ended', `turn ${turn} of session "${sessionId}" has no result that can be read`);
  return { ...result, steps: [] };
}

/** Returns the result of a turn, null if it has not ended, and undefined if its result cannot be read any more. */
async function turnOfOpenSession(client: Client, sessionId: string, turn: number): Promise<TurnResultFields | null | undefined> {
  const handle = client.workflow.getHandle(sessionId);
  const view = await queryHandle(QUERIES.turn, () => handle.query<TurnView, [TurnQuestion]>(QUERIES.turn, { turn }));
  if (view.result !== undefined) return view.result;
  return view.running === turn || view.turns < turn ? null : unlessUnreadable(recordedTurn(client, sessionId, turn));
}

/** Returns undefined for what will be unreadable at any later time. */
async function unlessUnreadable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (UNREADABLE.includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** The codes of a history that is removed or that this release cannot read, and of a workflow that closed without a result. */
const UNREADABLE: readonly string[] = ['history_removed', 'history_unreadable', 'internal'];
