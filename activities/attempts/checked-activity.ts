import { AsyncLocalStorage } from 'node:async_hooks';
import { log } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { cutText } from '../../src/core/domain/byte-budgets.ts';
import { defined } from '../../src/core/domain/json.ts';
import { attemptsText } from '../../src/core/domain/tool-calls.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import {
  ATTEMPTS_USED_UP,
  type MissingDetails,
  missingDetails,
  missingIn,
  type MissingThing,
  withUncountedAttempts,
} from '../../src/core/domain/missing-definitions.ts';
import type { OfRun } from '../../src/core/protocol.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { SecretVault } from '../secret-vault.ts';
import {
  attemptNumber,
  attemptsAllowed,
  heartbeatDetails,
  isWaitOver,
  lastDetails,
  nextWorkerAfterMs,
  skippedAttempts,
  waitTimes,
  withWorkerWait,
} from './attempt.ts';
import { attemptInfo, isParked } from './attempt-info.ts';
import { causeOf, messageOf, NO_CHANGE, type Sanitizer, type SerializableFailure, toFailure, withStack } from './failure.ts';

/**
 * Wraps an activity so that its worker can report every outcome, although users' tools, models and other functions may throw any value and
 * leave promises unhandled. Its failures are serializable, limited in size and free of the secrets that the vault has read; its result is
 * JSON.
 */
export function checkedActivity<Input, Output>(
  vault: SecretVault,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  const sanitizer = secretSanitizer(vault);
  return async (input) => {
    try {
      const report = rejectionLogger((reason) => toFailure(reason, 'internal', { sanitizer }));
      return requireJson(await reportingRejections(report, () => activity(input)));
    } catch (error) {
      throw toFailure(error, 'internal', { sanitizer });
    }
  };
}

/** Returns a sanitizer that redacts secrets from a failure and cuts long texts. */
function secretSanitizer(vault: SecretVault): Sanitizer {
  return {
    // Secrets are redacted before the text is cut: part of a secret would not be found.
    text: (text, maxBytes) => cutText(vault.redact(text), maxBytes),
    json: (value) => vault.redactJson(value),
  };
}

/**
 * Throws if the output is not JSON. The failure's type is not a Longhaul error code: a run would take such a code to mean that the tool has
 * not started.
 */
function requireJson<Output>(output: Output): Output {
  try {
    JSON.stringify(output);
    return output;
  } catch {
    throw ApplicationFailure.nonRetryable('The result of the activity is not JSON and cannot be recorded', 'result_not_json');
  }
}

/** The delays after failed attempts, in milliseconds. Each is twice the previous one. */
const DELAY_MS = { first: 1_000, longest: 60_000 };

/**
 * Wraps an activity whose failures are retried after a growing delay. The retry policy's delay is constant: it applies to attempts that
 * were lost with their worker.
 */
export function withGrowingDelay<Input, Output>(activity: (input: Input) => Promise<Output>): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      throw withRetryDelay(error);
    }
  };
}

function withRetryDelay(error: unknown): unknown {
  if (!(error instanceof ApplicationFailure) || error.nonRetryable || error.nextRetryDelay) return error;
  // The worker retries a local activity itself, as its policy says.
  if (attemptInfo().isLocal) return error;
  const { message, type, details, cause, category } = error;
  const delayMs = Math.min(DELAY_MS.longest, DELAY_MS.first * 2 ** (attemptNumber() - 1));
  return withStack(new ApplicationFailure(message, type, false, details, cause, delayMs, category), error, NO_CHANGE);
}

/** The facts about this worker that a failure carries. */
type WorkerFacts = Pick<ActivityRuntime, 'identity' | 'missingTimeoutMs'>;

/**
 * Wraps an activity that another worker of the task queue may have to execute. If this worker lacks something, the failure says what, and
 * the workflow schedules the activity again, to be tried on other workers in turn. The server then has no limit of attempts, so they are
 * counted here.
 */
export function withWorkerFailover<Input, Output>(
  worker: WorkerFacts,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return (input) => {
    const wait = (input as OfRun | undefined)?.awaitsWorker;
    return withWorkerWait(wait, async () => {
      if (wait !== undefined && attemptNumber() > wait.attempts) throw attemptsUsedUp(wait.attempts);
      try {
        return await activity(input);
      } catch (error) {
        const failure = toFailure(error, 'internal');
        const missing = missingThingIn(failure);
        if (missing !== undefined) throw missingFailure(worker, failure as ApplicationFailure, missing);
        throw wait === undefined ? error : withAttemptLimit(failure);
      }
    });
  };
}

/** Returns the thing that the worker lacked, if the failure names one. */
function missingThingIn(failure: SerializableFailure): MissingThing | undefined {
  return failure instanceof ApplicationFailure ? missingIn(failure.details?.[0]) : undefined;
}

/**
 * Returns the failure of a worker that lacks something. The first such failure goes to the workflow, which then
 * schedules the activity for other workers; later ones are retried on the next worker until the wait is over.
 */
function missingFailure(
  { identity, missingTimeoutMs }: WorkerFacts,
  { message, type }: ApplicationFailure,
  thing: MissingThing,
): ApplicationFailure {
  const { kind, name, known } = thing;
  const details: MissingDetails = { kind, name, known, worker: identity, ...waitTimes() };
  const parts = { message, ...(type ? { type } : {}) };
  const next = nextWorkerAfterMs();
  if (next === undefined) {
    const gaveUp = isWaitOver() ? { gaveUp: true as const } : {};
    const finalDetails = { ...details, forMs: missingTimeoutMs, attempt: attemptNumber(), ...gaveUp, ...lastHeartbeat() };
    return withoutStack(ApplicationFailure.create({ ...parts, nonRetryable: true, details: [missingDetails(finalDetails)] }));
  }
  // Reaches the server together with the failure.
  attemptInfo().heartbeat(withUncountedAttempts(skippedAttempts() + 1, lastDetails()));
  return withoutStack(
    ApplicationFailure.create({
      ...parts,
      nonRetryable: false,
      nextRetryDelay: next,
      details: [missingDetails(details)],
      // The first failure and the last are logged, and none of the many in between.
      category: ApplicationFailureCategory.BENIGN,
    }),
  );
}

/** Returns a failure that needs no stack: where Longhaul has looked for a definition helps nobody. */
function withoutStack(failure: ApplicationFailure): ApplicationFailure {
  failure.stack = '';
  return failure;
}

function lastHeartbeat(): Pick<MissingDetails, 'details'> {
  const details = heartbeatDetails(lastDetails());
  return details === undefined || details === null ? {} : { details };
}

/**
 * Applies the activity's own limit of attempts and its backoff to a failure: the rescheduled activity has no limit, and
 * the server's backoff would count attempts that no worker could make.
 */
function withAttemptLimit(failure: SerializableFailure): SerializableFailure {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable || isParked(failure)) return failure;
  const isLast = attemptNumber() >= (attemptsAllowed() ?? Infinity);
  const { message, type, details, cause, stack, category } = failure;
  const wait = failure.nextRetryDelay ?? backoffAfter(attemptNumber());
  const made = new ApplicationFailure(message, type, isLast, details, cause, isLast ? undefined : wait, category);
  if (stack !== undefined) made.stack = stack;
  return made;
}

/** Returns the backoff of the retry policy in milliseconds; undefined if the policy sets none. */
function backoffAfter(attempt: number): number | undefined {
  const { initialInterval, backoffCoefficient = 2, maximumInterval } = attemptInfo().retryPolicy ?? {};
  if (typeof initialInterval !== 'number') return undefined;
  const longest = typeof maximumInterval === 'number' ? maximumInterval : initialInterval * 100;
  return Math.min(longest, initialInterval * backoffCoefficient ** (attempt - 1));
}

/** Returns the failure of an activity whose earlier attempts were lost with their workers, or timed out. */
function attemptsUsedUp(attempts: number): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`Its worker was lost, or gave no answer in time (${attemptsText(attempts)})`, ATTEMPTS_USED_UP);
}

/** Fields of an attempt's failure in addition to the error's. */
interface AttemptFailure {
  message: string;
  /** Milliseconds until the next attempt, if the tool sets them. */
  nextRetryDelay?: number;
}

/**
 * Creates the failure of an attempt whose tool has thrown, with the stack and the causes of the error: the SDK logs it,
 * and the Temporal UI shows it while the call is retried.
 */
export function attemptFailure({ secrets }: ActivityRuntime, error: unknown, options: AttemptFailure): ApplicationFailure {
  const sanitizer = secretSanitizer(secrets);
  const cause = causeOf(error, sanitizer);
  const failure = ApplicationFailure.create({ type: 'tool_failed', ...options, ...defined({ cause }) });
  return withStack(failure, error, sanitizer);
}

/** The code that has thrown, and the call that it belongs to. */
export interface ErrorSource {
  /** The start of the log line, such as `Tool "pay"`. */
  what: string;
  agent: string;
  step?: number;
  callId: string;
}

/**
 * The level of the log line. `error`: the error is not retried. `debug`: the tool has thrown an error that is meant for
 * the model.
 */
type ErrorLevel = 'error' | 'debug';

/**
 * Logs an error of a tool whose activity does not fail with it: the model or an approver reads the message, and the tool's author needs the
 * stack. The SDK logs attempts that fail.
 */
export function logToolError(runtime: ActivityRuntime, { what, ...fields }: ErrorSource, error: unknown, level: ErrorLevel): void {
  const message = messageOf(error, secretSanitizer(runtime.secrets));
  log[level](`${what} threw`, { ...fields, error: attemptFailure(runtime, error, { message }) });
}

/** Reports the reason of a rejection in the context of the activity that caused it. */
type ReportRejection = (reason: unknown) => void;

/** The activity that the current code belongs to: its promises and timers keep it, even after the activity has ended. */
const origin = new AsyncLocalStorage<ReportRejection>();

/** Runs an activity. `report` receives the rejections that it leaves unhandled. */
function reportingRejections<Output>(report: ReportRejection, work: () => Promise<Output>): Promise<Output> {
  return origin.run(report, work);
}

/** Returns a function that logs an unhandled rejection with its activity and run; the activity itself continues. */
function rejectionLogger(toError: (reason: unknown) => Error): ReportRejection {
  return (reason) => {
    log.error(`A promise of "${attemptInfo().name}" was rejected and not handled: await it, or add a catch`, { error: toError(reason) });
  };
}

let watchers = 0;

/**
 * Starts reporting rejections that activity code leaves unhandled: otherwise they would end the process, and with it all other runs' calls.
 * Any other unhandled rejection ends the process as before, unless the process has its own listener. Does nothing if Node was started with
 * `--unhandled-rejections`. Returns a function that stops it.
 */
export function watchUnhandledRejections(): () => void {
  if (hasNodeOption()) return () => undefined;
  if (watchers === 0) process.on('unhandledRejection', onRejection);
  watchers += 1;
  let isStopped = false;
  return () => {
    if (isStopped) return;
    isStopped = true;
    watchers -= 1;
    if (watchers === 0) process.off('unhandledRejection', onRejection);
  };
}

function onRejection(reason: unknown): void {
  const report = origin.getStore();
  if (report !== undefined) return report(reason);
  // Node's default for a process without a listener.
  if (process.listenerCount('unhandledRejection') === 1) {
    throw reason instanceof Error ? reason : new Error(`A promise was rejected with ${errorMessage(reason)} and not handled`);
  }
}

function hasNodeOption(): boolean {
  return [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((option) => option.includes('--unhandled-rejections'));
}
