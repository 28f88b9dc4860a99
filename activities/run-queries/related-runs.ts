import { activityInfo, getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../../src/core/domain/errors.ts';
import { defined } from '../../src/core/domain/json.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import type { TurnQuestion, TurnResultFields, TurnView } from '../../src/core/domain/sessions.ts';
import {
  type CheckParentInput,
  type CheckParentOutput,
  QUERIES,
  type ReadCallInput,
  type ReadResultInput,
  type RequestCancelInput,
} from '../../src/core/protocol.ts';
import { readExecution, recordedTurn, turnOfEndedSession, type WantedTurn } from '../../src/history/read-run.ts';
import { describeRun, findExecution, hasEndedAs, requestCancel, runOutcome } from '../../src/temporal/run-workflow.ts';
import { failingAs } from '../attempts/failure.ts';
import { openingOfCall, queryHandle } from './query-run.ts';

/** The codes for a removed history, one that this release cannot read, and a workflow that closed without a result. */
const UNREADABLE: readonly string[] = ['history_removed', 'history_unreadable', 'internal'];

/**
 * Reads the result of a run for the workflow that started it: the close event of a cancelled child has none, and no child's close reaches
 * later executions of its parent. Null if the run is running and must not be waited for.
 */
const readResult: (input: ReadResultInput) => Promise<RunResultFields | null> = failingAs(
  'internal',
  async ({ runId, turn, call, ifEnded, whole }) => {
    if (turn !== undefined) return readTurn(runId, { turn, ...defined({ call }) });
    const client = getClient();
    if (ifEnded && !(await hasEnded(client, runId))) return null;
    const result = await runOutcome(client, runId);
    if (!whole || !result.outputTruncated) return result;
    const { outputTruncated: _, ...rest } = result;
    const recorded = await recordedResult(client, runId);
    return recorded === undefined ? result : { ...rest, output: recorded.output };
  },
);

/** Returns the original result of a run, with an output of any size. Undefined if the server has removed its history. */
async function recordedResult(client: Client, runId: string): Promise<RunResultFields | undefined> {
  const { runId: executionId } = await describeRun(client, runId);
  return (await readExecution(client, runId, executionId))?.run.result;
}

/**
 * Reads the result of a turn of a session for the run that keeps it. Null while the turn continues. For a session that ended without ending
 * the turn, returns the session's result. Throws `run_ended` if there is none for the turn, and the reason if the session was terminated:
 * then the run stops waiting.
 */
async function readTurn(sessionId: string, turn: WantedTurn): Promise<RunResultFields | null> {
  const client = getClient();
  const result = (await hasEnded(client, sessionId))
    ? await unlessUnreadable(turnOfEndedSession(client, sessionId, turn))
    : await turnOfOpenSession(client, sessionId, turn);
  if (result === null) return null;
  if (result === undefined)
    throw new LonghaulError('run_ended', `turn ${turn.turn} of session "${sessionId}" has no result that can be read`);
  return { ...result, steps: [] };
}

/** Returns the result of a turn, null if it has not ended, and undefined if its result can no longer be read. */
async function turnOfOpenSession(client: Client, sessionId: string, wanted: WantedTurn): Promise<TurnResultFields | null | undefined> {
  const handle = client.workflow.getHandle(sessionId);
  const view = await queryHandle(QUERIES.turn, () => handle.query<TurnView, [TurnQuestion]>(QUERIES.turn, wanted));
  if (view.result !== undefined) return view.result;
  const turn = wanted.call === undefined ? wanted.turn : view.ofCall;
  if (turn === undefined || view.running === turn || view.turns < turn) return null;
  return unlessUnreadable(recordedTurn(client, sessionId, { ...wanted, turn }));
}

/** Returns undefined for a permanent failure to read. */
async function unlessUnreadable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (UNREADABLE.includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** Asks the run that keeps a session for the message of its call, which is too large to be stored again. */
const readCallInput: (input: ReadCallInput) => Promise<string> = failingAs('internal', async (input) => {
  const { input: message } = await openingOfCall({ ...input, input: true });
  if (message === undefined)
    throw new LonghaulError('internal', `run "${input.runId}" has no text for call ${input.index} of "${input.eventId}"`);
  return message;
});

/** Reports whether the parent of a run has ended. */
const checkParent: (input: CheckParentInput) => Promise<CheckParentOutput> = failingAs(
  'server_unreachable',
  async ({ runId, firstRunId }) => ({ ended: await hasEnded(getClient(), runId, firstRunId) }),
);

/**
 * True for a run that has ended, or that the server does not have. A run that continues in another execution has not ended; a run with
 * another first execution than `firstRunId` is a different run with the same id.
 */
async function hasEnded(client: Client, runId: string, firstRunId?: string): Promise<boolean> {
  const found = await findExecution(client, runId);
  if (found === undefined) return true;
  const first = found.raw.workflowExecutionInfo?.firstRunId || undefined;
  if (firstRunId !== undefined && first !== undefined && first !== firstRunId) return true;
  return hasEndedAs(found.status.name);
}

/**
 * Asks the server to cancel this activity's workflow: only then can a workflow close as Canceled. The request does not name an execution,
 * because a run that has continued as new is the same run. A server's refusal is retried.
 */
const requestRunCancel: (input: RequestCancelInput) => Promise<void> = failingAs('server_unreachable', async ({ reason }) => {
  await requestCancel(getClient(), activityInfo().workflowExecution?.workflowId ?? '', reason);
});

/** The activities that read other runs, or make the server act on one. */
export const relatedRunActivities = { readResult, readCallInput, checkParent, requestCancel: requestRunCancel };
