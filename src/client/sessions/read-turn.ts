import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { TurnResultFields } from '../../core/domain/sessions/session-state.ts';
import type { TurnView } from '../../core/domain/sessions/session-views.ts';
import { QUERIES } from '../../core/protocol.ts';
import { readRun } from '../../history/read-run.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
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

/** The pauses between two looks at a turn that goes on: short at first, since most turns end soon. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/** Returns the result of a turn, or undefined while it goes on. Throws `invalid_input` for a turn that has not begun. Needs no worker. */
export async function readTurn({ client, sessionId, chain }: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const view = await queryRun<TurnView>(client, sessionId, QUERIES.turn, { turn });
  if (view?.result !== undefined) return view.result;
  if (view?.running === turn) return undefined;
  if (view !== undefined && turn > view.turns) throw notBegun(sessionId, turn, view.turns);
  const { result, begun } = await recordedTurn({ client, sessionId, chain }, turn);
  if (result === undefined && begun < turn) throw notBegun(sessionId, turn, begun);
  return result;
}

/** Reads the result of a turn from the histories, absent if it has not ended there, and the number of turns that have begun. */
async function recordedTurn(
  { client, sessionId, chain }: ReadSession,
  turn: number,
): Promise<{ result?: TurnResultFields; begun: number }> {
  let begun = 0;
  for await (const { run } of readRun(client, sessionId, chain, { fromTurn: turn })) {
    const result = run.state?.turns?.find((one) => one.turn === turn);
    begun = run.state?.session?.turns ?? 0;
    if (result !== undefined) return { result, begun };
  }
  return { begun };
}

/**
 * Waits until a turn that was accepted has ended, and returns its result. Throws `run_not_found`, and the reason of the signal. A worker
 * is asked once nothing goes on in the session any more, since a query to a session that is not in its cache replays the session, and in
 * the middle of a workflow task is refused. The history of a session with much to do is read every second.
 */
export async function waitForTurn(session: ReadSession, turn: number, signal?: AbortSignal): Promise<TurnResultFields> {
  let pause = SHORTEST_PAUSE_MS;
  let asked: { place: string; at: number } = { place: '', at: Date.now() };
  for (;;) {
    signal?.throwIfAborted();
    const { isAtRest, place } = await restOf(session);
    // A session with many users may never be at rest.
    if (place !== asked.place && (isAtRest || Date.now() - asked.at >= LONGEST_PAUSE_MS)) {
      const result = isAtRest ? await askForTurn(session, turn) : (await recordedTurn(session, turn)).result;
      asked = { place, at: Date.now() };
      if (result !== undefined) return result;
    }
    await sleep(pause, signal);
    pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Returns the result of a turn that was accepted, or undefined if it has not ended. */
async function askForTurn(session: ReadSession, turn: number): Promise<TurnResultFields | undefined> {
  const view = await queryLoadedRun<TurnView>(session.client, session.sessionId, QUERIES.turn, { turn });
  if (view?.result !== undefined) return view.result;
  // If no worker has the session in its cache, or the turn belongs to an earlier execution, history has the result if there is one. The
  // first turn of a session begins only once its agent is resolved.
  return view === undefined || turn < view.firstTurn ? (await recordedTurn(session, turn)).result : undefined;
}

/** Returns if a session has no activity and no workflow task, and its place in its history. */
async function restOf({ client, sessionId }: ReadSession): Promise<{ isAtRest: boolean; place: string }> {
  try {
    const { raw, runId, historyLength } = await withoutMemos(client).workflow.getHandle(sessionId).describe();
    const isAtRest = (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
    return { isAtRest, place: `${runId} ${historyLength}` };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw runNotFound(client, sessionId);
    throw error;
  }
}

function notBegun(sessionId: string, turn: number, turns: number): LonghaulError {
  return new LonghaulError('invalid_input', `Session "${sessionId}" has no turn ${turn}: it has begun ${turns}`);
}
