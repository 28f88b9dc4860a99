import { activityInfo } from '@temporalio/activity';
import { AsyncLocalStorage } from 'node:async_hooks';
import { uncountedAttemptsIn, activityDetails, type WorkerWait } from '../../src/core/domain/errors/worker-wait.ts';

/** What the activity at hand was told of workers that lacked something. */
const waits = new AsyncLocalStorage<WorkerWait>();

/** Runs an attempt of an activity that may have come here from workers that lacked something. */
export function withWorkerWait<Result>(wait: WorkerWait | undefined, work: () => Promise<Result>): Promise<Result> {
  return wait === undefined ? work() : waits.run(wait, work);
}

/** How many attempts of this activity workers could not make because they lacked something. */
export function lackedAttempts(): number {
  return waits.getStore() === undefined ? 0 : uncountedAttemptsIn(activityInfo().heartbeatDetails);
}

/** The attempt at hand, 1-based, not counting those that workers could not make. */
export function attemptNumber(): number {
  return activityInfo().attempt - lackedAttempts();
}

/** How often the activity may be attempted; undefined where nobody says. */
export function attemptsAllowed(): number | undefined {
  return waits.getStore()?.attempts ?? activityInfo().retryPolicy?.maximumAttempts;
}

/** The details of the last heartbeat of the attempts before. */
export function lastDetails(): unknown {
  const wait = waits.getStore();
  const details: unknown = activityInfo().heartbeatDetails;
  if (wait === undefined) return details;
  return activityDetails(details) ?? wait.details;
}

/** Waits between attempts that workers could not make, in milliseconds: soon, since most of a queue's workers may have what is missing. */
const WAIT_MS = { first: 250, longest: 5_000 };

/** When the activity is tried on the next worker, in milliseconds; undefined where it is not, because others were waited for long enough. */
export function nextWorkerAfterMs(): number | undefined {
  const wait = waits.getStore();
  if (wait === undefined) return undefined;
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
  // Both by the clock of the server.
  const elapsed = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  const next = Math.min(WAIT_MS.longest, WAIT_MS.first * 2 ** Math.min(lackedAttempts(), 10));
  return elapsed + next > wait.forMs ? undefined : next;
}

/** When the waiting for another worker began and ends; undefined where nobody waits. ISO 8601. */
export function waitTimes(): { since: string; until: string } | undefined {
  const wait = waits.getStore();
  if (wait === undefined) return undefined;
  const { scheduledTimestampMs } = activityInfo();
  return { since: new Date(scheduledTimestampMs).toISOString(), until: new Date(scheduledTimestampMs + wait.forMs).toISOString() };
}

/** True where nobody waits for another worker any more: what can be done without the missing thing is to be done now. */
export function isWaitOver(): boolean {
  return waits.getStore() !== undefined && nextWorkerAfterMs() === undefined;
}
