import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import type { ApprovalRequirement } from '../domain/approvals/approval.ts';
import type { ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import { attemptsOf } from '../domain/agent/tool-policy.ts';
import { attemptsText, noWorkerHas, notHappened } from '../domain/content/tool-text.ts';
import { cutText } from '../domain/content/cut-content.ts';
import { ATTEMPTS_USED_UP } from '../domain/errors/worker-wait.ts';
import { errorMessage, isErrorCode, type ErrorCode } from '../domain/errors/error.ts';
import { missingIn } from '../domain/errors/missing-details.ts';
import { spentIn } from '../domain/model/spent.ts';
import type { Spent } from '../domain/model/usage.ts';
import type { Authorization, ModelCallOutcome, NotifyOutcome, SummaryOutcome, ToolOutcome } from '../loop/ports.ts';
import type { CallModelOutput, RunToolOutput, SummariseOutput, VerifyCallOutput } from '../protocol.ts';

/**
 * Functions that turn the result or the failure of an activity into an outcome for the loop. The workflow uses them, and so does
 * the client when it reads a run back from its history, so that both get the same events and steps.
 */

/** The failure of an activity, as data. */
export type ActivityProblem =
  | { type: 'cancelled' }
  | { type: 'timed_out'; message: string }
  | { type: 'failed'; code: ErrorCode | undefined; message: string };

/** Returns the failure of an activity without the ActivityFailure that Temporal wraps around it. */
export function activityCause(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : error;
}

/** Reads the failure of an activity. Any other thrown value counts as a failure too, so that none fails the workflow task. */
export function activityProblem(error: unknown): ActivityProblem {
  const cause = activityCause(error);
  if (cause instanceof CancelledFailure) return { type: 'cancelled' };
  if (cause instanceof TimeoutFailure) return { type: 'timed_out', message: `${cause.message} (${cause.timeoutType})` };
  if (cause instanceof ApplicationFailure) {
    // Each of its attempts ended without an answer.
    if (cause.type === ATTEMPTS_USED_UP) return { type: 'timed_out', message: cause.message };
    return { type: 'failed', code: isErrorCode(cause.type) ? cause.type : undefined, message: cause.message };
  }
  return { type: 'failed', code: undefined, message: errorMessage(cause) };
}

/** Returns the outcome of a model call that completed. */
export function modelOutcome(output: CallModelOutput): ModelCallOutcome {
  if (output.type === 'response') return output;
  return { type: 'cancelled', ...(output.partial === undefined ? {} : { partial: output.partial }) };
}

/** Returns the outcome of a summary that completed. */
export function summaryOutcome(output: SummariseOutput): SummaryOutcome {
  if (!('type' in output)) return { type: 'summary', ...output };
  return { type: 'cancelled', ...(output.partial === undefined ? {} : { partial: output.partial }) };
}

/** Returns the outcome of a summary that failed. */
export function summaryFailure(model: string, error: unknown): SummaryOutcome {
  return modelFailure(model, error);
}

/** Returns the outcome of a model call that failed. */
export function modelFailure(model: string, error: unknown): Extract<ModelCallOutcome, { type: 'failed' | 'cancelled' }> {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const isTimeOut = problem.type === 'timed_out';
  const code = isTimeOut ? 'model_timeout' : (problem.code ?? 'model_error');
  const message = isTimeOut ? `Model "${model}" timed out: ${problem.message}` : problem.message;
  const spent = spentOn(error);
  return { type: 'failed', code, message, ...(spent === undefined ? {} : { spent }) };
}

/** Reads the cost of the failed attempts of a model call from its last failure, or else from its last heartbeat. */
function spentOn(error: unknown): Spent | undefined {
  const cause = activityCause(error);
  if (cause instanceof ApplicationFailure) {
    const [details]: unknown[] = cause.details ?? [];
    return spentIn(details) ?? spentIn(missingIn(details)?.details);
  }
  // An activity that was waiting for its next attempt timed out after a failure.
  if (cause instanceof TimeoutFailure) return spentIn(cause.lastHeartbeatDetails) ?? spentOn(cause.cause);
  return undefined;
}

/** Returns the outcome of a tool call that completed. */
export function toolOutcome({ id, at: _, content, isError, lost, reason, ...rest }: RunToolOutput): ToolOutcome {
  if (lost) return { type: 'lost', reason: lostReason(reason) };
  return { type: 'result', status: isError ? 'error' : 'success', content, resultId: id, ...rest };
}

/**
 * Returns the outcome of a tool call whose activity failed: an error that the model reads, not the end of the run. If the effect
 * of the tool is `once`, the outcome is lost, unless the failure proves that the call has not begun.
 */
export function toolFailure(tool: ToolSnapshot, error: unknown): ToolOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const message = problem.type === 'timed_out' ? timeoutText(tool, error) : problem.message;
  if (tool.effect === 'once' && !hasNotBegun(error)) return { type: 'lost', reason: lostReason(message) };
  const missing = missingMessage(tool, error);
  if (missing !== undefined)
    return { ...errorOutcome(noWorkerHas(tool.name)), notRun: 'not_started', noWorker: { code: missingCode(error), message: missing } };
  return errorOutcome(message);
}

/** Bytes of JSON of the reason for a lost answer, which is part of a step, of a summary and of views of the run. */
const LOST_REASON_BYTES = 200;

/** Returns the reason for a lost answer, cut to its budget. */
function lostReason(reason = 'its worker gave no answer'): string {
  return cutText(reason, LOST_REASON_BYTES);
}

/** Returns, for a person and not for the model, why the call could not be made, if the workers that took it lack the tool. */
function missingMessage({ name }: ToolSnapshot, error: unknown): string | undefined {
  const cause = activityCause(error);
  if (!(cause instanceof ApplicationFailure)) return undefined;
  if (cause.type === 'NotFoundError')
    return `No worker that took a call of tool "${name}" has it. Start one that has, on the task queue of the run`;
  return cause.type === 'unknown_tool' || cause.type === 'unknown_hook' ? cause.message : undefined;
}

/** Returns the code for a run whose call no worker could make. */
function missingCode(error: unknown): ErrorCode {
  const cause = activityCause(error);
  return cause instanceof ApplicationFailure && cause.type === 'unknown_hook' ? 'unknown_hook' : 'unknown_tool';
}

/** Describes a time-out. A live worker ends a call at its time-out by itself, so a missed heartbeat means that the worker was lost. */
function timeoutText(tool: ToolSnapshot, error: unknown): string {
  const cause = activityCause(error);
  const attempts = attemptsText(attemptsOf(tool));
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'HEARTBEAT') {
    return `Tool '${tool.name}' gave no sign of life any more: its worker was lost (${attempts})`;
  }
  return `Tool '${tool.name}' timed out after ${tool.timeoutMs}ms (${attempts})`;
}

/** Returns the outcome of a lost call, as its tool reports it. */
export function verifiedOutcome(output: VerifyCallOutput, reason: string): ToolOutcome {
  const found = output.happened ? toolOutcome(output.output) : errorOutcome(notHappened(output.tool));
  return found.type === 'result' ? { ...found, verified: { happened: output.happened, reason } } : found;
}

/** Returns the outcome of a lost call if its tool could not report one. */
export function verifyFailure(error: unknown, reason: string): ToolOutcome {
  return activityProblem(error).type === 'cancelled' ? { type: 'cancelled' } : { type: 'lost', reason };
}

/** Returns the requirement of a call whose predicate failed: without its answer, the call requires approval. */
export function requirementFailure(eventId: string, index: number): ApprovalRequirement {
  return { digest: `${eventId}/${index}`, reason: 'Whether the call needs approval could not be told' };
}

function errorOutcome(message: string): ToolOutcome & { type: 'result' } {
  return { type: 'result', status: 'error', content: [message], durationMs: null };
}

/** The types of the failures with which the SDK ends an activity that it has not called. */
const NOT_CALLED: readonly unknown[] = ['NotFoundError', 'WorkerShutdown'];

/**
 * True if a failure proves that the tool was not called. Longhaul's activity fails with an error code only before it calls the
 * tool, and an activity that no worker took was never started. Any other failure may concern the result: that it could not be
 * encoded, or was too large to be sent.
 */
function hasNotBegun(error: unknown): boolean {
  const cause = activityCause(error);
  if (cause instanceof ApplicationFailure) return isErrorCode(cause.type) || NOT_CALLED.includes(cause.type);
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
}

/** Returns the outcome of an authorization whose activity failed: the decision is refused. */
export function authorizationFailure(error: unknown): Authorization {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'refused', reason: `it could not be checked (${problem.message})` };
}

/** Returns the outcome of a notification whose activity failed. */
export function notifyFailure(error: unknown): NotifyOutcome {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'failed', message: problem.message };
}

/** Returns why the archive did not store the events of a run. */
export function archiveFailure(error: unknown): string {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? 'the activity was cancelled' : problem.message;
}
