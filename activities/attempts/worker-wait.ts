import { activityInfo } from '@temporalio/activity';
import { AsyncLocalStorage } from 'node:async_hooks';
import { uncountedAttemptsIn, activityDetails, type WorkerWait } from '../../src/core/domain/errors/worker-wait.ts';
import { isoTime } from '../../src/core/domain/record/time.ts';

/** The wait of the current activity for a worker that has what others lacked. */
const workerWaits = new AsyncLocalStorage<WorkerWait>();

/** Runs an attempt of an activity that may have been rescheduled because other workers lacked something. */
export function withWorkerWait<Result>(wait: WorkerWait | undefined, work: () => Promise<Result>): Promise<Result> {
  return wait === undefined ? work() : workerWaits.run(wait, work);
}

/** Returns the number of attempts that workers could not make because they lacked something. */
export function skippedAttempts(): number {
  return workerWaits.getStore() === undefined ? 0 : uncountedAttemptsIn(activityInfo().heartbeatDetails);
}

/** Returns the number of the current attempt, 1-based, not counting those that workers could not make. */
export function attemptNumber(): number {
  return activityInfo().attempt - skippedAttempts();
}

/** Returns the limit of attempts; undefined if there is none. */
export function attemptsAllowed(): number | undefined {
  return workerWaits.getStore()?.attempts ?? activityInfo().retryPolicy?.maximumAttempts;
}

/** Returns the details of the last heartbeat of earlier attempts. */
export function lastDetails(): unknown {
  const wait = workerWaits.getStore();
  const details: unknown = activityInfo().heartbeatDetails;
  return activityDetails(details) ?? wait?.details;
}

/**
 * Delays between attempts that workers could not make, in milliseconds: short, since most workers of a queue may have
 * what is missing.
 */
const WAIT_MS = { first: 250, longest: 5_000 };

/**
 * Returns the delay before the activity is tried on the next worker, in milliseconds; undefined if the wait is over, or
 * there is none.
 */
export function nextWorkerAfterMs(): number | undefined {
  const wait = workerWaits.getStore();
  if (wait === undefined) return undefined;
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // Both timestamps are of the server's clock.
  const elapsed = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const next = Math.min(WAIT_MS.longest, WAIT_MS.first * 2 ** Math.min(skippedAttempts(), 10));
  return elapsed + next > wait.forMs ? undefined : next;
}

/** Returns the start and the end of the wait for another worker, ISO 8601; undefined if there is none. */
export function waitTimes(): { since: string; until: string } | undefined {
  const wait = workerWaits.getStore();
  if (wait === undefined) return undefined;
  const { scheduledTimestampMs } = activityInfo();
  return { since: isoTime(scheduledTimestampMs), until: isoTime(scheduledTimestampMs + wait.forMs) };
}

/** True if the wait for another worker is over: the activity then does what it can without the missing thing. */
export function isWaitOver(): boolean {
  return workerWaits.getStore() !== undefined && nextWorkerAfterMs() === undefined;
}
