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
  lackedAttempts,
  lastDetails,
  nextWorkerAfterMs,
  waitTimes,
  withWorkerWait,
} from './waiting-attempt.ts';

/** What a failure says of the worker that it is from. */
type WorkerFacts = Pick<ActivityRuntime, 'identity' | 'missingTimeoutMs'>;

/**
 * An activity that another worker of the task queue may have to do. Where this one lacks something, the failure says what,
 * and the run has the activity scheduled again, to be tried on one worker after the other. From then on the server knows
 * no number of attempts: those that are made are counted here.
 */
export function onAnyWorker<Input, Output>(
  worker: WorkerFacts,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return (input) => {
    const wait = (input as OfRun | undefined)?.awaitsWorker;
    return withWorkerWait(wait, async () => {
      if (wait !== undefined && attemptNumber() > wait.attempts) throw usedUp(wait.attempts);
      try {
        return await activity(input);
      } catch (error) {
        const failure = toFailure(error, 'internal');
        const missing = lackOf(failure);
        if (missing !== undefined) throw lackHere(worker, failure as ApplicationFailure, missing);
        throw wait === undefined ? error : counted(failure);
      }
    });
  };
}

/** What the worker lacked, by the failure. */
function lackOf(failure: SerializableFailure): MissingThing | undefined {
  return failure instanceof ApplicationFailure ? missingIn(failure.details?.[0]) : undefined;
}

/** The first one goes to the run, which then knows; the others to the next worker, as long as one is waited for. */
function lackHere(
  { identity, missingTimeoutMs }: WorkerFacts,
  { message, type }: ApplicationFailure,
  thing: MissingThing,
): ApplicationFailure {
  const { kind, name, known } = thing;
  const told: MissingDetails = { kind, name, known, worker: identity, ...waitTimes() };
  const parts = { message, ...(type ? { type } : {}) };
  const next = nextWorkerAfterMs();
  if (next === undefined) {
    const gaveUp = isWaitOver() ? { gaveUp: true as const } : {};
    const details = { ...told, forMs: missingTimeoutMs, attempt: attemptNumber(), ...gaveUp, ...lastHeartbeat() };
    return ApplicationFailure.create({ ...parts, nonRetryable: true, details: [missingDetails(details)] });
  }
  // Goes to the server with the failure.
  heartbeat(withUncountedAttempts(lackedAttempts() + 1, lastDetails()));
  return ApplicationFailure.create({ ...parts, nonRetryable: false, nextRetryDelay: next, details: [missingDetails(told)] });
}

function lastHeartbeat(): Pick<MissingDetails, 'details'> {
  const details = heartbeatDetails(lastDetails());
  return details === undefined || details === null ? {} : { details };
}

/** The server would try again for ever, and wait as if every attempt had been made. */
function counted(failure: SerializableFailure): SerializableFailure {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable) return failure;
  const isLast = attemptNumber() >= (attemptsAllowed() ?? Infinity);
  const { message, type, details, cause, stack, category } = failure;
  const wait = failure.nextRetryDelay ?? backoffAfter(attemptNumber());
  const made = new ApplicationFailure(message, type, isLast, details, cause, isLast ? undefined : wait, category);
  if (stack !== undefined) made.stack = stack;
  return made;
}

/** What the retry policy says, in milliseconds; undefined where it does not. */
function backoffAfter(attempt: number): number | undefined {
  const { initialInterval, backoffCoefficient = 2, maximumInterval } = activityInfo().retryPolicy ?? {};
  if (typeof initialInterval !== 'number') return undefined;
  const longest = typeof maximumInterval === 'number' ? maximumInterval : initialInterval * 100;
  return Math.min(longest, initialInterval * backoffCoefficient ** (attempt - 1));
}

/** The attempts before were lost with their workers, or took too long. */
function usedUp(attempts: number): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`Its worker was lost, or gave no answer in time (${attemptsText(attempts)})`, ATTEMPTS_USED_UP);
}
