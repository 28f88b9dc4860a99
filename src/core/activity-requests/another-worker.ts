import { ApplicationFailure } from '@temporalio/common';
import { activityCause } from './activity-outcome.ts';
import type { JsonValue } from '../domain/json/json.ts';
import { missingIn } from '../domain/errors/missing-details.ts';
import { DEFAULT_MISSING_TIMEOUT_MS, type Missing } from '../domain/errors/missing.ts';
import { isErrorCode } from '../domain/errors/error.ts';
import { ACTIVITIES, type OfRun } from '../protocol.ts';
import { type ActivityRequest, SCHEDULE_TO_CLOSE } from './activity-request.ts';
import { isoTime } from '../domain/record/time.ts';

/**
 * An activity whose worker lacks a definition fails without having begun, and is scheduled again: as one activity that the server
 * tries on one worker after the other, without further events, until a worker has the definition or the time is up. A worker without
 * Longhaul does not count such attempts and ends that activity earlier. Then it is scheduled once more, after a delay.
 */

/** The definition that a worker lacked. */
export interface MissingOnWorker extends Missing {
  /** The number of attempts that workers made before, if known. */
  attempts: number;
  details?: JsonValue;
}

/** The earlier wait of the same activity. */
interface Wait {
  missing: Missing;
  /** The number of times that the activity was scheduled again. */
  times: number;
}

/**
 * Returns the definition that the worker of a failed activity lacked and another one may have; undefined if the activity failed for
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
    ...(worker === undefined ? {} : { worker }),
    since,
    until,
    attempts: attempt - 1,
    ...(details === undefined ? {} : { details }),
  };
}

type Reported = NonNullable<ReturnType<typeof missingIn>>;

/** Infers the missing definition from the failure of the SDK, if the worker has no activity of that name. */
function inferredMissing(
  name: string,
  { type, message }: ApplicationFailure,
): (Pick<Reported, 'kind' | 'name' | 'known'> & Partial<Reported>) | undefined {
  if (!isUnregistered(name, type, message)) return undefined;
  return { kind: isOwn(name) ? 'activity' : 'tool', name, known: [] };
}

/** True for the failure with which the SDK ends an activity that the worker has not registered. */
function isUnregistered(name: string, type: string | null | undefined, message: string): boolean {
  return type === 'NotFoundError' && message.startsWith(`Activity function ${name} is not registered`);
}

/** True for the name of one of Longhaul's own activities, which is not a tool. */
export function isOwn(name: string): boolean {
  return Object.values<string>(ACTIVITIES).includes(name);
}

/** Returns the same activity, to be tried on one worker after the other. */
export function onAnotherWorker<Input, Output, Outcome>(
  request: ActivityRequest<Input, Output, Outcome>,
  { until, attempts, details }: MissingOnWorker,
  now: number,
): ActivityRequest<Input, Output, Outcome> {
  const call = request.remotely?.() ?? request;
  const { maximumAttempts = 1, ...backoff } = call.options.retry ?? {};
  const wait: NonNullable<OfRun['awaitsWorker']> = {
    forMs: Date.parse(until) - now,
    attempts: Math.max(1, maximumAttempts - attempts),
    ...(details === undefined ? {} : { details }),
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

/** Makes a failure that says nothing about earlier attempts, because one of them may have begun. */
function unknownEnd(error: unknown): ApplicationFailure {
  return ApplicationFailure.nonRetryable('No worker that was left has what the call needs', 'UnknownEnd', error);
}

/** Returns the delay in milliseconds before the activity is scheduled once more, if a worker that does not count such attempts ended it. */
export function pauseMs(times: number): number {
  return times === 0 ? 0 : Math.min(30_000, 1_000 * 2 ** (times - 1));
}
