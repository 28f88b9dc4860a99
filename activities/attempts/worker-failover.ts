import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type MissingDetails, missingDetails, missingIn } from '../../src/core/domain/errors/missing-details.ts';
import type { MissingThing } from '../../src/core/domain/errors/missing.ts';
import { attemptsText } from '../../src/core/domain/content/tool-text.ts';
import { ATTEMPTS_USED_UP, withUncountedAttempts } from '../../src/core/domain/errors/worker-wait.ts';
import type { OfRun } from '../../src/core/protocol.ts';
import { toFailure } from '../failures/failure.ts';
import { heartbeatDetails } from './heartbeat-details.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { SerializableFailure } from '../failures/serializable-failure.ts';
import {
  attemptNumber,
  attemptsAllowed,
  isWaitOver,
  skippedAttempts,
  lastDetails,
  nextWorkerAfterMs,
  waitTimes,
  withWorkerWait,
} from './worker-wait.ts';

/** The facts about this worker that a failure carries. */
type WorkerFacts = Pick<ActivityRuntime, 'identity' | 'missingTimeoutMs'>;

/**
 * Wraps an activity that another worker of the task queue may have to execute. If this worker lacks something, the
 * failure says what, and the workflow schedules the activity again, to be tried on one worker after another. The server
 * then has no limit of attempts, so they are counted here.
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
    return ApplicationFailure.create({ ...parts, nonRetryable: true, details: [missingDetails(finalDetails)] });
  }
  // Reaches the server together with the failure.
  heartbeat(withUncountedAttempts(skippedAttempts() + 1, lastDetails()));
  return ApplicationFailure.create({ ...parts, nonRetryable: false, nextRetryDelay: next, details: [missingDetails(details)] });
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
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable) return failure;
  const isLast = attemptNumber() >= (attemptsAllowed() ?? Infinity);
  const { message, type, details, cause, stack, category } = failure;
  const wait = failure.nextRetryDelay ?? backoffAfter(attemptNumber());
  const made = new ApplicationFailure(message, type, isLast, details, cause, isLast ? undefined : wait, category);
  if (stack !== undefined) made.stack = stack;
  return made;
}

/** Returns the backoff of the retry policy in milliseconds; undefined if the policy sets none. */
function backoffAfter(attempt: number): number | undefined {
  const { initialInterval, backoffCoefficient = 2, maximumInterval } = activityInfo().retryPolicy ?? {};
  if (typeof initialInterval !== 'number') return undefined;
  const longest = typeof maximumInterval === 'number' ? maximumInterval : initialInterval * 100;
  return Math.min(longest, initialInterval * backoffCoefficient ** (attempt - 1));
}

/** Returns the failure of an activity whose earlier attempts were lost with their workers, or timed out. */
function attemptsUsedUp(attempts: number): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`Its worker was lost, or gave no answer in time (${attemptsText(attempts)})`, ATTEMPTS_USED_UP);
}
