import { type Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import { requireKnown } from '../../define/options/option-checks.ts';
import { type Duration, timerMilliseconds } from '../../core/domain/run/duration.ts';
import { errorMessage, isErrorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { UPDATES } from '../../core/protocol.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import { requireRun } from '../listing/foreign-workflow.ts';
import { unreachableError } from '../../temporal/server-reachability.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { waitForWorkflowTask } from './wait-for-workflow-task.ts';
import { throttleOf, type UpdateThrottle } from './update-throttle.ts';
import { sleep, jitter } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** How long an Update is tried, where the caller says nothing. */
const DEFAULT_PATIENCE: Duration = '30s';

/** Between two attempts: at first, after congestion, and at last. */
const PAUSES_MS = { shortest: 25, congested: 400, longest: 2_000 };

/** Refusals that pass: the run is about to continue in its next execution, or to work on its queue. */
const PASSING_REFUSALS = new Set<string | null | undefined>(['busy', 'queue_full', 'AcceptedUpdateCompletedWorkflow']);

/** How an Update is sent. */
export interface UpdateOptions {
  /** How long it is tried before it is given up. Default 30 seconds. */
  timeout?: Duration;
}

/** One Update to a run. */
export interface RunUpdate {
  name: string;
  argument?: unknown;
  /** The caller's own, of what is asked. */
  id?: string;
  /** One execution answers the same Update once, with the same answer. Default: each call is an Update of its own. */
  updateId?: string;
}

/**
 * Sends an Update to the newest execution of a run, again and again while what hinders it passes: the switch to the
 * next execution, a full queue, a server that is busy. The run takes what it has taken before only once, by the ids in
 * the arguments, so that trying again is safe. Throws `run_not_found`, `run_ended`, the refusal of the run, `wait_timeout`.
 */
export async function updateRun<Answer>(client: Client, runId: string, update: RunUpdate, options: UpdateOptions = {}): Promise<Answer> {
  requireKnown(`"${update.name}"`, options, ['timeout']);
  const deadline = Date.now() + timerMilliseconds(options.timeout ?? DEFAULT_PATIENCE, `"${update.name}": "timeout"`);
  const lane = throttleOf(client, runId, update.name === UPDATES.send ? 'messages' : 'others');
  const taken = await lane.inTurn(deadline, async () => ({ answer: await tryUpdate<Answer>(client, runId, update, { deadline, lane }) }));
  if (taken === undefined) throw gaveUp(runId, update, new Error('what this client had sent before was not taken'));
  return taken.answer;
}

/** Within which bounds an Update is tried. */
interface Bounds {
  deadline: number;
  lane: UpdateThrottle;
}

async function tryUpdate<Answer>(client: Client, runId: string, update: RunUpdate, { deadline, lane }: Bounds): Promise<Answer> {
  const { name, argument = null, updateId = randomUUID() } = update;
  // Without a run id: each attempt goes to the execution that is the newest then.
  const handle = client.workflow.getHandle(runId);
  let wait = PAUSES_MS.shortest;
  let hindrance: unknown;
  for (;;) {
    await lane.keepGap();
    const sentAt = Date.now();
    try {
      const answer = await client.withDeadline(deadline, () =>
        handle.executeUpdate<Answer, [unknown]>(name, { args: [argument], updateId }),
      );
      lane.taken(Date.now() - sentAt);
      return answer;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw await goneError(client, runId);
      if (isUnknownUpdate(error)) await requireRunOf(client, runId);
      if (!isPassing(error)) throw refusal(error);
      // That the time is over says less than what it was spent on.
      if (hindrance === undefined || error instanceof WorkflowUpdateFailedError) hindrance = error;
      if (Date.now() + wait > deadline) throw isAway(hindrance) ? awayError(client, update, hindrance) : gaveUp(runId, update, hindrance);
      if (isCongestion(error)) {
        lane.congested(Date.now());
        wait = Math.max(wait, PAUSES_MS.congested);
      }
      // Until the run has worked on those that the server did take, it would shed this one again, and abort them.
      if (isShed(error)) await waitForWorkflowTask(client, runId, deadline);
    }
    // Whoever was turned away together must not come back together.
    await sleep(jitter(wait));
    wait = Math.min(wait * 2, PAUSES_MS.longest);
  }
}

/** Too much is said to the run at once: the Update was shed, or aborted because another was. */
function isCongestion(error: unknown): boolean {
  return isShed(error) || (grpcCode(error) === GRPC.unavailable && errorText(error).includes('update was aborted'));
}

/** A run that goes on in its next execution takes nothing for a moment, however little is said: that does not count. */
function isShed(error: unknown): boolean {
  return grpcCode(error) === GRPC.resourceExhausted && !errorText(error).includes('workflow is closing');
}

/** Nobody answers at all, as against a run that does not. */
function isAway(error: unknown): boolean {
  return grpcCode(error) === GRPC.unavailable && !isCongestion(error);
}

/** The workflow takes no such Update: it is none of ours, or of an older release. */
function isUnknownUpdate(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  const { cause } = error;
  return !(cause instanceof ApplicationFailure && isErrorCode(cause.type));
}

async function requireRunOf(client: Client, runId: string): Promise<void> {
  const { type } = await withoutMemos(client).workflow.getHandle(runId).describe();
  requireRun(client, runId, type);
}

function isPassing(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return true;
  if (error instanceof WorkflowUpdateFailedError)
    return error.cause instanceof ApplicationFailure && PASSING_REFUSALS.has(error.cause.type);
  const code = grpcCode(error);
  if (code === GRPC.resourceExhausted || code === GRPC.unavailable || code === GRPC.deadlineExceeded) return true;
  // The task that should have answered failed; whether it applied the Update is not known.
  return code === GRPC.failedPrecondition && errorText(error).includes('unexpected workflow task failure');
}

function errorText(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `${error.message} ${errorMessage(error.cause)}` : errorMessage(error);
}

/** The run's own refusal with its code; anything else as it is. */
function refusal(error: unknown): unknown {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return error;
  const { type, message } = error.cause;
  return isErrorCode(type) ? new LonghaulError(type, message, { cause: error }) : error;
}

/** Temporal says "not found" of a workflow that has closed, too. */
async function goneError(client: Client, runId: string): Promise<LonghaulError> {
  try {
    await withoutMemos(client).workflow.getHandle(runId).describe();
    return new LonghaulError('run_ended', `Run "${runId}" has ended: start a new one`);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return runNotFound(client, runId);
    throw error;
  }
}

function awayError(client: Client, { id }: RunUpdate, error: unknown): LonghaulError {
  const taken = id === undefined ? '' : `. It may have been taken: send it again with the same id, "${id}"`;
  return unreachableError(client, `${errorText(error)}${taken}`, error);
}

function gaveUp(runId: string, { name, id }: RunUpdate, cause: unknown): LonghaulError {
  const why = cause instanceof WorkflowUpdateFailedError ? errorMessage(cause.cause) : `${errorText(cause)}${hintOn(cause)}`;
  const again = id === undefined ? 'Send it again' : `It may have been taken: send it again with the same id, "${id}"`;
  return new LonghaulError('wait_timeout', `Run "${runId}" did not take "${name}" in time (${why}). ${again}`, { cause });
}

/** What is likely to be behind an Update that was not answered. */
function hintOn(cause: unknown): string {
  if (isCongestion(cause)) return '; too much is said to it at once';
  const isSilent = cause instanceof WorkflowUpdateRPCTimeoutOrCancelledError || grpcCode(cause) === GRPC.deadlineExceeded;
  return isSilent ? '; is a worker running?' : '';
}
