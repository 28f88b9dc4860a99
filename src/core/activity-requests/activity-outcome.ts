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
 * What the end of an activity means to the loop. Used where a run happens (the workflow) and where it is read back
 * from its history (the client), so that both come to the same events and steps.
 */

/** How an activity failed, as data. */
export type ActivityProblem =
  | { type: 'cancelled' }
  | { type: 'timed_out'; message: string }
  | { type: 'failed'; code: ErrorCode | undefined; message: string };

/** The failure that an activity ended with, without what Temporal puts around it. */
export function activityCause(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : error;
}

/** Reads the failure of an activity. Whatever else was thrown is a failure too: nothing escapes into the workflow task. */
export function activityProblem(error: unknown): ActivityProblem {
  const cause = activityCause(error);
  if (cause instanceof CancelledFailure) return { type: 'cancelled' };
  if (cause instanceof TimeoutFailure) return { type: 'timed_out', message: `${cause.message} (${cause.timeoutType})` };
  if (cause instanceof ApplicationFailure) {
    // Its attempts were ended from outside, one after the other.
    if (cause.type === ATTEMPTS_USED_UP) return { type: 'timed_out', message: cause.message };
    return { type: 'failed', code: isErrorCode(cause.type) ? cause.type : undefined, message: cause.message };
  }
  return { type: 'failed', code: undefined, message: errorMessage(cause) };
}

/** The outcome of a model call that returned. */
export function modelOutcome(output: CallModelOutput): ModelCallOutcome {
  if (output.type === 'response') return output;
  return { type: 'cancelled', ...(output.partial === undefined ? {} : { partial: output.partial }) };
}

/** The outcome of a summary that returned. */
export function summaryOutcome(output: SummariseOutput): SummaryOutcome {
  if (!('type' in output)) return { type: 'summary', ...output };
  return { type: 'cancelled', ...(output.partial === undefined ? {} : { partial: output.partial }) };
}

/** The outcome of a summary that failed. */
export function summaryFailure(model: string, error: unknown): SummaryOutcome {
  return modelFailure(model, error);
}

/** The outcome of a model call that failed. */
export function modelFailure(model: string, error: unknown): Extract<ModelCallOutcome, { type: 'failed' | 'cancelled' }> {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const isTimeOut = problem.type === 'timed_out';
  const code = isTimeOut ? 'model_timeout' : (problem.code ?? 'model_error');
  const message = isTimeOut ? `Model "${model}" timed out: ${problem.message}` : problem.message;
  const spent = spentOn(error);
  return { type: 'failed', code, message, ...(spent === undefined ? {} : { spent }) };
}

/** What the attempts of a call to a model have cost that failed: its last failure says so, or the last heartbeat where there is none. */
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

/** The outcome of a tool call that returned. */
export function toolOutcome({ id, at: _, content, isError, lost, reason, ...rest }: RunToolOutput): ToolOutcome {
  if (lost) return { type: 'lost', reason: lostReason(reason) };
  return { type: 'result', status: isError ? 'error' : 'success', content, resultId: id, ...rest };
}

/**
 * The outcome of a tool call whose activity failed: an error that the model reads, not the end of the run. Of what
 * happens once, only a failure that the activity itself reports says that it has not begun.
 */
export function toolFailure(tool: ToolSnapshot, error: unknown): ToolOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const message = problem.type === 'timed_out' ? timeoutText(tool, error) : problem.message;
  if (tool.effect === 'once' && !hasNotBegun(error)) return { type: 'lost', reason: lostReason(message) };
  const missing = missingMessage(tool, error);
  if (missing !== undefined) return { ...errorOutcome(noWorkerHas(tool.name)), noWorker: { code: 'unknown_tool', message: missing } };
  return errorOutcome(message);
}

/** Bytes of JSON of how an answer was lost: it is in a step, in a summary, and in what is shown of the run. */
const LOST_REASON_BYTES = 200;

/** How an answer was lost. Workers of earlier releases do not say. */
function lostReason(said = 'its worker gave no answer'): string {
  return cutText(said, LOST_REASON_BYTES);
}

/** Why the call could not be made, where the workers that took it lack the tool: for a person, and not for a model. */
function missingMessage({ name }: ToolSnapshot, error: unknown): string | undefined {
  const cause = activityCause(error);
  if (!(cause instanceof ApplicationFailure)) return undefined;
  if (cause.type === 'NotFoundError')
    return `No worker that took a call of tool "${name}" has it. Start one that has, on the task queue of the run`;
  return cause.type === 'unknown_tool' ? cause.message : undefined;
}

/** A worker that is alive ends a call at its time by itself: what the server ends has often lost its worker. */
function timeoutText(tool: ToolSnapshot, error: unknown): string {
  const cause = activityCause(error);
  const attempts = attemptsText(attemptsOf(tool));
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'HEARTBEAT') {
    return `Tool '${tool.name}' gave no sign of life any more: its worker was lost (${attempts})`;
  }
  return `Tool '${tool.name}' timed out after ${tool.timeoutMs}ms (${attempts})`;
}

/** The outcome of asking what became of a call. */
export function verifiedOutcome(output: VerifyCallOutput, reason: string): ToolOutcome {
  const found = output.happened ? toolOutcome(output.output) : errorOutcome(notHappened(output.tool));
  return found.type === 'result' ? { ...found, verified: { happened: output.happened, reason } } : found;
}

/** The same, where nobody could be asked. */
export function verifyFailure(error: unknown, reason: string): ToolOutcome {
  return activityProblem(error).type === 'cancelled' ? { type: 'cancelled' } : { type: 'lost', reason };
}

/** The terms of a call whose predicate could not be asked: one that was not asked has not said no. */
export function termsFailure(eventId: string, index: number): ApprovalRequirement {
  return { digest: `${eventId}/${index}`, reason: 'Whether the call needs approval could not be told' };
}

function errorOutcome(message: string): ToolOutcome & { type: 'result' } {
  return { type: 'result', status: 'error', content: [message], durationMs: null };
}

/** What the SDK fails an activity with that it has not called, or that was still waiting for its turn. */
const NOT_CALLED: readonly unknown[] = ['NotFoundError', 'WorkerShutdown'];

/**
 * An activity of ours reports a failure with a code only before the tool is called; and what no worker took was never
 * started. Any other failure may be about the result: that it could not be encoded, or was too large to be sent.
 */
function hasNotBegun(error: unknown): boolean {
  const cause = activityCause(error);
  if (cause instanceof ApplicationFailure) return isErrorCode(cause.type) || NOT_CALLED.includes(cause.type);
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
}

/** What comes of asking whether a decision is by somebody who may decide, where the activity failed: without an answer nobody may. */
export function authorizationFailure(error: unknown): Authorization {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'refused', reason: `it could not be checked (${problem.message})` };
}

/** The outcome of a notification whose activity failed. */
export function notifyFailure(error: unknown): NotifyOutcome {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'failed', message: problem.message };
}

/** Why the archive did not take the events of a run. */
export function archiveFailure(error: unknown): string {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? 'the activity was cancelled' : problem.message;
}
