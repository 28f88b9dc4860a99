import { partsOfModelName } from '../domain/model.ts';
import { ActivityFailure, type ActivityOptions, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { type AgentSnapshot, attemptsOf, type ToolSnapshot } from '../domain/agent.ts';
import type { ApprovalRequirement } from '../domain/approvals.ts';
import { cutText, jsonBytes } from '../domain/byte-budgets.ts';
import type { ToolCall } from '../domain/content.ts';
import { defined, type JsonObject, type JsonValue } from '../domain/json.ts';
import { type ErrorCode, errorMessage, isErrorCode } from '../domain/errors.ts';
import { ATTEMPTS_USED_UP, DEFAULT_MISSING_TIMEOUT_MS, type Missing, missingIn } from '../domain/missing-definitions.ts';
import { oneLine, summaryText } from '../domain/text.ts';
import { isoTime } from '../domain/time.ts';
import { attemptsText, notHappened, noWorkerHas, TOOL_TIMEOUT } from '../domain/tool-calls.ts';
import type { NotifyOutcome } from '../capabilities/notifications.ts';
import type { Authorization, ModelCall, ToolOutcome } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';
import { type DataInput, INLINE_BYTES, type OfRun, type RunToolOutput, type VerifyCallOutput } from '../protocol.ts';
import { type ActivityName, type InputOf, isOwnActivity, type ResultOf } from './contracts.ts';
import { withHookAnswers } from '../capabilities/hooks.ts';

/**
 * One activity that the loop requests: its input and options as plain data, and the functions that turn its end into an outcome. Temporal
 * and the in-memory run of tests perform it with the same input and options: timeouts and retries are set only here.
 */
export interface ActivityRequest<Input, Output, Outcome> {
  /** The activity's name. */
  name: string;
  /**
   * Returns the key of the request among requests of the same name, from its input, or from the output of a local activity: when a run is
   * read back, its recorded end is found by this key. Absent: requests of this name are found in the order in which they were made.
   */
  key?: (of: Partial<Input>) => string | undefined;
  /** `local`: inside the workflow task. */
  tier: 'remote' | 'local';
  options: ActivityOptions;
  input: Input;
  /** The run can do without it: if a worker lacks a definition, the run does not wait for another worker. */
  isOptional?: true;
  /** Its end is not progress: an execution that does nothing else must not continue as new. */
  isNoProgress?: true;
  /** The deadline of the run does not give it up: never, or not once it has begun. */
  outlastsDeadline?: 'always' | 'begun';
  /** For a local activity: returns the same request as a remote activity, for another worker. */
  remotely?: () => ActivityRequest<Input, Output, Outcome>;
  /** Returns the input for scheduling the activity again, if its output requires that. Absent: never required. */
  again?: (output: Output) => Input | undefined;
  returned: (output: Output) => Outcome;
  failed: (error: unknown) => Outcome;
}

/** The request of one of Longhaul's own activities. */
export type RequestOf<Name extends ActivityName, Outcome> = ActivityRequest<InputOf<Name>, ResultOf<Name>, Outcome> & { name: Name };

/** Performs an activity and returns its outcome. Must not reject. */
export type PerformActivity = <Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>) => Promise<Outcome>;

/** The parts of a run from which activity requests are built. */
export interface RequestingRun {
  runId: string;
  /** The key of a run inside a user's workflow. */
  key?: string;
  snapshot: AgentSnapshot;
  state?: RunState;
}

/**
 * The timeout of the wait for a worker, long enough for a long outage. The work itself is bounded by the number and duration of attempts.
 */
export const SCHEDULE_TO_CLOSE = '7 days';

/** The heartbeat timeout of activities other than model and tool calls. They send three heartbeats within it. */
export const HEARTBEAT_TIMEOUT = '15s';

/**
 * The delay after an attempt that was lost with its worker, which the server notices after three missed heartbeats: it does not grow. A
 * failing attempt sets a growing delay itself.
 */
export const LOST_DELAY = { initialInterval: 1_000, backoffCoefficient: 1 } as const;

/** The retries of an activity that bounds its failed attempts itself. */
export const RETRY_LOST = { maximumAttempts: 20, ...LOST_DELAY } as const;

/** Returns the input's reference to the run that an activity works for. */
export function runReference({ key }: { key?: string }): OfRun {
  return defined({ run: key });
}

/**
 * Returns the key of the call that a request is about. In a program, it is the call's id, because events of parallel steps may have a
 * different order when the run is read back; otherwise it is the call's position.
 */
export function callKey({ snapshot }: RequestingRun): (of: { at?: readonly number[]; callId?: string }) => string | undefined {
  return snapshot.program === undefined ? ({ at }) => at?.join('/') : ({ callId }) => callId;
}

/** True if a value is small enough to be stored again in an activity's input. */
export function fits(value: object): boolean {
  return jsonBytes(value) <= INLINE_BYTES;
}

/**
 * Returns deps and state for an activity's input if they are small, so that the Temporal UI shows them; otherwise a flag that makes the
 * activity query them.
 */
export function dataOf({ state }: RequestingRun): DataInput {
  const deps = state?.deps ?? {};
  const runState = state?.context.state ?? {};
  if (!fits({ deps, state: runState })) return { dataByReference: true };
  return {
    ...unlessEmpty('deps', deps),
    ...unlessEmpty('state', runState),
    ...(state?.principal === undefined ? {} : { principal: true }),
  };
}

/** Returns all deps and state for an activity whose input is not stored in the history. */
export function wholeDataOf({ state }: RequestingRun): DataInput {
  const { deps = {}, context, principal } = state ?? {};
  return { ...unlessEmpty('deps', deps), ...unlessEmpty('state', context?.state ?? {}), ...defined({ principal }) };
}

function unlessEmpty<Name extends 'deps' | 'state'>(name: Name, value: JsonObject): { [Key in Name]?: JsonObject } {
  const field: { [Key in 'deps' | 'state']?: JsonObject } = Object.keys(value).length === 0 ? {} : { [name]: value };
  return field;
}

/**
 * Functions that turn the result or failure of an activity into an outcome for the loop. Both the workflow and the client, when it reads a
 * run back from its history, use them, so that both get the same events and steps.
 */

/** The failure of an activity, as data. */
type ActivityProblem =
  | { type: 'cancelled' }
  | { type: 'timed_out'; message: string }
  | { type: 'failed'; code: ErrorCode | undefined; message: string };

/** Returns the failure of an activity without Temporal's ActivityFailure around it. */
export function activityCause(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : error;
}

/** Reads the failure of an activity. Any other thrown value counts as a failure, too, so that it cannot fail the workflow task. */
export function activityProblem(error: unknown): ActivityProblem {
  const cause = activityCause(error);
  if (cause instanceof CancelledFailure) return { type: 'cancelled' };
  if (cause instanceof TimeoutFailure) return { type: 'timed_out', message: `${cause.message} (${cause.timeoutType})` };
  if (cause instanceof ApplicationFailure) {
    // All of its attempts ended without an answer.
    if (cause.type === ATTEMPTS_USED_UP) return { type: 'timed_out', message: cause.message };
    return { type: 'failed', code: isErrorCode(cause.type) ? cause.type : undefined, message: cause.message };
  }
  return { type: 'failed', code: undefined, message: errorMessage(cause) };
}

/** Returns the input of a model call that no batch answered: it is made again, immediately. */
export function withoutBatch<Input extends object>(input: Input, output: object): (Input & { unbatched: true }) | undefined {
  return 'type' in output && output.type === 'unbatched' ? { ...input, unbatched: true } : undefined;
}

/** Returns the outcome of a tool call that completed. */
export function toolOutcome({ id, at: _, content, isError, lost, reason, hooks, ...rest }: RunToolOutput): ToolOutcome {
  if (lost) return { type: 'lost', reason: lostReason(reason) };
  return withHookAnswers({ type: 'result', status: isError ? 'error' : 'success', content, resultId: id, ...rest }, hooks);
}

/**
 * Returns the outcome of a tool call whose activity failed: an error for the model, not the end of the run. If the tool's effect is `once`,
 * the outcome is lost, unless the failure proves that the call has not begun.
 */
export function toolFailure(tool: ToolSnapshot, failure: unknown): ToolOutcome {
  const error = ownFailure(failure);
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const message = problem.type === 'timed_out' ? timeoutText(tool, error) : problem.message;
  if (tool.effect === 'once' && !hasNotBegun(error)) return { type: 'lost', reason: lostReason(message) };
  const missing = missingMessage(tool, error);
  if (missing !== undefined)
    return { ...errorOutcome(noWorkerHas(tool.name)), notRun: 'not_started', noWorker: { code: missingCode(error), message: missing } };
  return { ...errorOutcome(message), ...defined({ timedOut: timedOut(error) }) };
}

/**
 * Returns the failure of the tool itself, if the server reports instead that the call has no time left for another attempt. The SDK has the
 * failure only in the server's form. An encrypted one is not read.
 */
function ownFailure(error: unknown): unknown {
  const cause = activityCause(error);
  if (!(cause instanceof TimeoutFailure) || cause.timeoutType !== 'SCHEDULE_TO_CLOSE') return error;
  const { message, applicationFailureInfo, encodedAttributes } = cause.failure?.cause ?? {};
  const type = applicationFailureInfo?.type;
  if (!message || !type || encodedAttributes || type === TOOL_TIMEOUT) return error;
  return ApplicationFailure.create({ message, type });
}

/** Returns what had no time left, if that is how a call failed. */
function timedOut(error: unknown): 'attempt' | 'call' | undefined {
  const cause = activityCause(error);
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_CLOSE') return 'call';
  const isAttempt =
    cause instanceof TimeoutFailure
      ? cause.timeoutType === 'START_TO_CLOSE'
      : cause instanceof ApplicationFailure && cause.type === TOOL_TIMEOUT;
  return isAttempt ? 'attempt' : undefined;
}

/** Bytes of JSON of the reason for a lost answer, which is part of a step, a summary and views of the run. */
const LOST_REASON_BYTES = 200;

/** Returns the reason for a lost answer, cut to its budget. */
function lostReason(reason = 'its worker gave no answer'): string {
  return cutText(reason, LOST_REASON_BYTES);
}

/** Returns why the call could not be made, for people and not for the model, if the workers that took it lack the tool. */
function missingMessage({ name }: ToolSnapshot, error: unknown): string | undefined {
  const cause = activityCause(error);
  if (!(cause instanceof ApplicationFailure)) return undefined;
  if (cause.type === 'NotFoundError')
    return `No worker that took a call of tool "${name}" has the tool. Start one that has it, on the task queue of the run`;
  return cause.type === 'unknown_tool' || cause.type === 'unknown_hook' ? cause.message : undefined;
}

/** Returns the error code of a run with a call that no worker could make. */
function missingCode(error: unknown): ErrorCode {
  const cause = activityCause(error);
  return cause instanceof ApplicationFailure && cause.type === 'unknown_hook' ? 'unknown_hook' : 'unknown_tool';
}

/** Describes a timeout. A live worker itself ends a call at its timeout, so a missed heartbeat means that the worker was lost. */
function timeoutText(tool: ToolSnapshot, error: unknown): string {
  const cause = activityCause(error);
  // Without time for all of them, their number is not known.
  const isCutShort = error instanceof ActivityFailure && error.retryState === 'TIMEOUT';
  const attempts = isCutShort ? '' : ` (${attemptsText(attemptsOf(tool))})`;
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'HEARTBEAT') {
    return `Tool '${tool.name}' stopped sending heartbeats: its worker was lost${attempts}`;
  }
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_CLOSE') return `Tool '${tool.name}' was not done in time`;
  return `Tool '${tool.name}' timed out after ${tool.timeoutMs}ms${attempts}`;
}

/** Returns the outcome of a lost call as reported by its tool. */
export function verifiedOutcome(output: VerifyCallOutput, reason: string): ToolOutcome {
  const found = output.happened ? toolOutcome(output.output) : errorOutcome(notHappened(output.tool));
  return found.type === 'result' ? { ...found, verified: { happened: output.happened, reason } } : found;
}

/** Returns the outcome of a lost call about which its tool could not report. */
export function verifyFailure(error: unknown, reason: string): ToolOutcome {
  return activityProblem(error).type === 'cancelled' ? { type: 'cancelled' } : { type: 'lost', reason };
}

/** Returns the requirement of a call whose predicate failed: without the predicate's answer, the call requires approval. */
export function requirementFailure(eventId: string, index: number): ApprovalRequirement {
  return { digest: `${eventId}/${index}`, reason: 'Whether the call needs approval could not be told' };
}

function errorOutcome(message: string): ToolOutcome & { type: 'result' } {
  return { type: 'result', status: 'error', content: [message], durationMs: null };
}

/** The failure types of activities that the SDK ends without calling them. */
const NOT_CALLED: readonly unknown[] = ['NotFoundError', 'WorkerShutdown'];

/**
 * True if a failure proves that the tool was not called. Longhaul's activity fails with an error code only before it calls the tool, and an
 * activity that no worker took never started. Any other failure may be about the result: it could not be encoded, or was too large to send.
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

/**
 * An activity whose worker lacks a definition fails without having begun, and is scheduled again, as one activity that the server tries on
 * one worker after another, without further events, until a worker has the definition or the time is up. A worker without Longhaul does not
 * count such attempts and ends the activity earlier. Then it is scheduled again after a delay.
 */

/** The definition that a worker lacked. */
export interface MissingOnWorker extends Missing {
  /** The number of earlier attempts by workers, if known. */
  attempts: number;
  details?: JsonValue;
}

/** The earlier wait of the same activity. */
interface Wait {
  missing: Missing;
  /** The number of times that the activity was rescheduled. */
  times: number;
}

/**
 * Returns the definition that the worker of a failed activity lacked and another worker may have; undefined if the activity failed for
 * another reason, or the wait is over.
 */
export function missingOnWorker(
  call: Pick<ActivityRequest<never, never, never>, 'name'>,
  error: unknown,
  wait: Wait | undefined,
  now: number,
): MissingOnWorker | undefined {
  const cause = activityCause(error);
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const reported = missingIn(cause.details?.[0]);
  if (reported?.gaveUp) return undefined;
  const missing = reported ?? inferredMissing(call.name, cause);
  if (missing === undefined) return undefined;
  const { kind, name, known, worker, attempt = 1, details, forMs = DEFAULT_MISSING_TIMEOUT_MS } = missing;
  const since = wait?.missing.since ?? isoTime(now);
  const until = wait?.missing.until ?? isoTime(now + forMs);
  if (Date.parse(until) <= now) return undefined;
  return {
    kind,
    name,
    known,
    code: isErrorCode(cause.type) ? cause.type : 'unknown_tool',
    ...defined({ worker }),
    since,
    until,
    attempts: attempt - 1,
    ...defined({ details }),
  };
}

type Reported = NonNullable<ReturnType<typeof missingIn>>;

/** Infers the missing definition from the SDK's failure, if the worker has no activity of that name. */
function inferredMissing(
  name: string,
  { type, message }: ApplicationFailure,
): (Pick<Reported, 'kind' | 'name' | 'known'> & Partial<Reported>) | undefined {
  if (!isUnregistered(name, type, message)) return undefined;
  return { kind: isOwnActivity(name) ? 'activity' : 'tool', name, known: [] };
}

/** True for the SDK's failure of an activity that the worker has not registered. */
function isUnregistered(name: string, type: string | null | undefined, message: string): boolean {
  return type === 'NotFoundError' && message.startsWith(`Activity function ${name} is not registered`);
}

/**
 * Returns the request for a call that was already attempted elsewhere: for the remaining attempts, which read the details of the last one.
 */
export function afterAttempts<Input, Output, Outcome>(
  request: ActivityRequest<Input, Output, Outcome>,
  made: Pick<MissingOnWorker, 'attempts' | 'details'>,
  now: number,
): ActivityRequest<Input, Output, Outcome> {
  return onAnotherWorker(request, { ...made, until: isoTime(now + DEFAULT_MISSING_TIMEOUT_MS) }, now);
}

/** Returns the same activity, to be tried on one worker after another. */
export function onAnotherWorker<Input, Output, Outcome>(
  request: ActivityRequest<Input, Output, Outcome>,
  { until, attempts, details }: Pick<MissingOnWorker, 'until' | 'attempts' | 'details'>,
  now: number,
): ActivityRequest<Input, Output, Outcome> {
  const call = request.remotely?.() ?? request;
  // A call that workers may park has no limit here: they count its attempts anyway.
  const { maximumAttempts = Number.MAX_SAFE_INTEGER, ...backoff } = call.options.retry ?? { maximumAttempts: 1 };
  const wait: NonNullable<OfRun['awaitsWorker']> = {
    forMs: Date.parse(until) - now,
    attempts: Math.max(1, maximumAttempts - attempts),
    ...defined({ details }),
  };
  return {
    ...call,
    options: {
      ...call.options,
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      // The worker counts the attempts: those that workers could not make do not count.
      retry: { ...backoff, nonRetryableErrorTypes: ['NotFoundError'] },
    },
    input: { ...call.input, awaitsWorker: wait },
    failed: (error) => call.failed(isUnregisteredEnd(call.name, error) ? unknownEnd(error) : error),
  };
}

function isUnregisteredEnd(name: string, error: unknown): boolean {
  const cause = activityCause(error);
  return cause instanceof ApplicationFailure && isUnregistered(name, cause.type, cause.message);
}

/** Creates a failure that does not prove anything about earlier attempts, because one of them may have begun. */
function unknownEnd(error: unknown): ApplicationFailure {
  return ApplicationFailure.nonRetryable('None of the remaining workers has what the call needs', 'UnknownEnd', error);
}

/** Returns the delay in milliseconds before the activity is rescheduled, if a worker that does not count such attempts ended it. */
export function pauseMs(times: number): number {
  return times === 0 ? 0 : Math.min(30_000, 1_000 * 2 ** (times - 1));
}

/** Returns the summary of a model call: `step 2 · gpt-x · 3 messages new`. */
export function modelSummary(call: ModelCall, model: string): string {
  const messages = call.newEvents === 1 ? '1 message new' : `${call.newEvents} messages new`;
  return summaryText(`step ${call.step}${call.final ? ' (final)' : ''} · ${partsOfModelName(model).id} · ${messages}`);
}

/** Returns the summary of a compaction: `compaction · gpt-x · 34 events summarized`. */
export function compactionSummary(events: number, model: string): string {
  return summaryText(`compaction · ${partsOfModelName(model).id} · ${events} events summarized`);
}

/** The maximum bytes of a thought and the arguments next to it. The full texts are in the model's answer and the call. */
const THOUGHT_BYTES = 80;
const ARGUMENTS_BYTES = 120;

/**
 * Returns the summary of a tool call, with the tool's label, the arguments and the model's thought: `Refund · 42 · It arrived broken.` The
 * activity has the tool's name, so it is not repeated. Undefined if all three are missing.
 */
export function callSummary(args: JsonObject, thought: string | null, label = ''): string | undefined {
  const reason = thought === null ? '' : oneLine(thought.trimStart().slice(0, 4 * THOUGHT_BYTES), THOUGHT_BYTES);
  const values = reason === '' ? argumentsText(args) : oneLine(argumentsText(args), ARGUMENTS_BYTES);
  const parts = [label, values, reason].filter((part) => part !== '');
  return parts.length === 0 ? undefined : summaryText(parts.join(' · '));
}

/** Returns the summary of another activity about a call: `does pay need a decision: 42`. */
export function aboutCall(subject: string, args: JsonObject): string {
  const values = argumentsText(args);
  return summaryText(values === '' ? subject : `${subject}: ${values}`);
}

/** Joins the values of the arguments, which are more informative than their names. */
function argumentsText(args: JsonObject): string {
  return Object.values(args)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join(', ');
}

/**
 * Returns the summary of a verification: `what became of pay (answer lost: its worker gave no answer): 5`. The reason comes first,
 * because arguments may fill a summary.
 */
export function verifySummary({ name, arguments: args }: Pick<ToolCall, 'name' | 'arguments'>, reason: string): string {
  return aboutCall(`what became of ${name} (answer lost: ${reason})`, args);
}
