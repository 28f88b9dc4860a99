import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { RunResultFields } from '../../core/domain/run/result.ts';
import type { TurnResultFields } from '../../core/domain/sessions/session-state.ts';
import type { TurnView } from '../../core/domain/sessions/session-views.ts';
import { QUERIES } from '../../core/protocol.ts';
import { readRun } from '../../history/read-run.ts';
import { recordedTurn, turnOfEndedSession } from '../../history/recorded-turn.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { hasEndedAs } from '../../temporal/run-state.ts';
import { sleep } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { queryLoadedRun, queryRun } from '../read/query-run.ts';
import type { RunChain } from '../read/chain.ts';

/** A session that is read. */
export interface ReadSession {
  client: Client;
  sessionId: string;
  chain: RunChain;
}

/** The pauses between two looks at a running turn: short at first, since most turns end soon. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Returns the result of a turn, or undefined while it is running. Needs no worker. Throws `invalid_input` for a turn that has not begun, and
 * for a session that has ended as `waitForTurn`.
 */
export async function readTurn(session: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const { client, sessionId, chain } = session;
  const view = await queryRun<TurnView>(client, sessionId, QUERIES.turn, { turn });
  if (view?.result !== undefined) return view.result;
  if (view?.running === turn) return undefined;
  let begun = 0;
  for await (const { run } of readRun(client, sessionId, chain, { fromTurn: turn })) {
    const result = run.state?.turns?.find((one) => one.turn === turn);
    if (result !== undefined) return result;
    begun = run.state?.session?.turns ?? 0;
  }
  if (begun >= turn) return undefined;
  if ((await placeOf(session)).hasEnded) return endedTurn(await turnOfEndedSession(client, sessionId, turn), turn);
  throw new LonghaulError('invalid_input', `Session "${sessionId}" has no turn ${turn}: it has begun ${begun}`);
}

/**
 * Waits until a turn that was accepted has ended, and returns its result: that of the session, if it has ended without ending the turn.
 * Throws `run_not_found`, `run_ended` for a turn that the session ended before, `run_terminated`, `run_timed_out`, and the reason of the
 * signal. A worker is asked once the session is at rest, since a query to a session that is not in its cache replays the
 * session, and in the middle of a workflow task is refused. The history of a session with much to do is read every second.
 */
export async function waitForTurn(session: ReadSession, turn: number, signal?: AbortSignal): Promise<TurnResultFields> {
  const { client, sessionId } = session;
  let pause = SHORTEST_PAUSE_MS;
  let asked: { place: string; at: number } = { place: '', at: Date.now() };
  for (;;) {
    signal?.throwIfAborted();
    const { hasEnded, isAtRest, place } = await placeOf(session);
    if (hasEnded) return endedTurn(await turnOfEndedSession(client, sessionId, turn), turn);
    // A session with many users may never be at rest.
    if (place !== asked.place && (isAtRest || Date.now() - asked.at >= LONGEST_PAUSE_MS)) {
      const result = isAtRest ? await askForTurn(session, turn) : await recordedTurn(client, sessionId, turn);
      asked = { place, at: Date.now() };
      if (result !== undefined) return result;
    }
    await sleep(pause, signal);
    pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Returns the result of a turn of a session that has ended. The result of a session has no place in it. */
function endedTurn(result: RunResultFields | TurnResultFields, turn: number): TurnResultFields {
  return 'turn' in result ? result : { ...result, turn, firstStep: result.stepsUsed + 1 };
}

/** Returns the result of a turn that was accepted, or undefined if it has not ended. */
async function askForTurn({ client, sessionId }: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const view = await queryLoadedRun<TurnView>(client, sessionId, QUERIES.turn, { turn });
  if (view?.result !== undefined) return view.result;
  // If no worker has the session in its cache, or the turn belongs to an earlier execution, history has the result if there is one. The
  // first turn of a session begins only once its agent is resolved.
  return view === undefined || turn < view.firstTurn ? recordedTurn(client, sessionId, turn) : undefined;
}

/** The place of a session in its history. */
interface SessionPlace {
  hasEnded: boolean;
  /** True if the session has no activity and no workflow task. */
  isAtRest: boolean;
  /** Another text once the history has grown. */
  place: string;
}

async function placeOf({ client, sessionId }: ReadSession): Promise<SessionPlace> {
  try {
    const { raw, runId, historyLength, status } = await withoutMemos(client).workflow.getHandle(sessionId).describe();
    const isAtRest = (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
    return { hasEnded: hasEndedAs(status.name), isAtRest, place: `${runId} ${historyLength}` };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw runNotFound(client, sessionId);
    throw error;
  }
}
