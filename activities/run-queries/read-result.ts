import { getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { TurnResultFields } from '../../src/core/domain/sessions/session-state.ts';
import type { TurnQuestion, TurnView } from '../../src/core/domain/sessions/session-views.ts';
import { QUERIES, type ReadResultInput } from '../../src/core/protocol.ts';
import { readExecution } from '../../src/history/read-run.ts';
import { recordedTurn, turnOfEndedSession } from '../../src/history/recorded-turn.ts';
import { runOutcome } from '../../src/temporal/run-outcome.ts';
import { failingAs } from '../failures/failure.ts';
import { queryHandle } from './access.ts';
import { hasEnded } from './has-ended.ts';

/** The codes of a history that is removed or that this release cannot read, and of a workflow that closed without a result. */
const UNREADABLE: readonly string[] = ['history_removed', 'history_unreadable', 'internal'];

/**
 * Reads the result of a run for the workflow that started it: the close of a cancelled child carries none, and the close of
 * any child does not reach the later executions of its parent. Null if the run goes on and is not to be waited for.
 */
export const readResult: (input: ReadResultInput) => Promise<RunResultFields | null> = failingAs(
  'internal',
  async ({ runId, turn, ifEnded, whole }) => {
    if (turn !== undefined) return readTurn(runId, turn);
    const client = getClient();
    if (ifEnded && !(await hasEnded(client, runId))) return null;
    const result = await runOutcome(client, runId);
    if (!whole || !result.outputTruncated) return result;
    const { outputTruncated: _, ...rest } = result;
    const recorded = await recordedResult(client, runId);
    return recorded === undefined ? result : { ...rest, output: recorded.output };
  },
);

/** Returns the result of a run as it returned it, with an output of any size. Undefined if the server has removed its history. */
async function recordedResult(client: Client, runId: string): Promise<RunResultFields | undefined> {
  const { runId: executionId } = await client.workflow.getHandle(runId).describe();
  return (await readExecution(client, runId, executionId))?.run.result;
}

/**
 * Reads the result of a turn of a session for the run that keeps it. Null while the turn goes on. A session that ended without
 * ending the turn gives its own result. Throws `run_ended` if it has none for the turn, and the reason if it was terminated: the run
 * then waits no longer.
 */
async function readTurn(sessionId: string, turn: number): Promise<RunResultFields | null> {
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
