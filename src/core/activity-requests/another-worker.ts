import { ApplicationFailure } from '@temporalio/common';
import { activityCause } from './activity-outcome.ts';
import type { JsonValue } from '../domain/json/json.ts';
import { missingIn } from '../domain/errors/missing-details.ts';
import { DEFAULT_MISSING_TIMEOUT_MS, type Missing, type MissingKind } from '../domain/errors/missing.ts';
import { type ErrorCode, isErrorCode } from '../domain/errors/error.ts';
import { ACTIVITIES, type OfRun } from '../protocol.ts';
import { type ActivityRequest, SCHEDULE_TO_CLOSE } from './activity-request.ts';

/**
 * An activity whose worker lacks what it needs fails without having begun, and is scheduled again: as one activity that the
 * server tries on one worker after the other, at no further event, until one has what it needs or the time is up. Workers
 * of a release that does not count its attempts, or that do not know Longhaul at all, end it earlier: then it is
 * scheduled once more, after a while.
 */

/** The change of the loop that this is: runs whose history has it otherwise are replayed as they were. */
export const ANOTHER_WORKER = 'another-worker';

/** What a worker lacked. */
export interface Lack extends Missing {
  /** Attempts that were made before, where that is known. */
  attempts: number;
  details?: JsonValue;
}

/** What is waited for already, for the same activity. */
interface Waited {
  missing: Missing;
  /** How often it has been scheduled again. */
  times: number;
}

/** What the worker of a failed activity lacked that another one may have; undefined where it failed otherwise, or where others were waited for long enough. */
export function lackIn(
  call: Pick<ActivityRequest<never, never, never>, 'name'>,
  error: unknown,
  waited: Waited | undefined,
  now: number,
): Lack | undefined {
  const cause = activityCause(error);
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const told = missingIn(cause.details?.[0]);
  if (told?.gaveUp) return undefined;
  const known = told ?? untold(call.name, cause);
  if (known === undefined) return undefined;
  const { kind, name, worker, attempt = 1, details, forMs = DEFAULT_MISSING_TIMEOUT_MS } = known;
  const since = waited?.missing.since ?? new Date(now).toISOString();
  const until = waited?.missing.until ?? new Date(now + forMs).toISOString();
  if (Date.parse(until) <= now) return undefined;
  return {
    kind,
    name,
    known: known.known,
    code: isErrorCode(cause.type) ? cause.type : 'unknown_tool',
    ...(worker === undefined ? {} : { worker }),
    since,
    until,
    attempts: attempt - 1,
    ...(details === undefined ? {} : { details }),
  };
}

/** Codes by which workers of older releases say what they lack, without its name. */
const LACKING: Partial<Record<ErrorCode, MissingKind>> = { unknown_agent: 'agent', unknown_provider: 'provider' };

type Told = NonNullable<ReturnType<typeof missingIn>>;

/** What is known of a failure without details: of a worker of an older release, or of the SDK where a worker has no activity of the name. */
function untold(name: string, { type, message }: ApplicationFailure): (Pick<Told, 'kind' | 'name' | 'known'> & Partial<Told>) | undefined {
  const kind = isErrorCode(type) ? LACKING[type] : undefined;
  if (kind !== undefined) return { kind, name: quoted(message) ?? '?', known: quotedAfter(message, 'It has: ') };
  if (!isUnregistered(name, type, message)) return undefined;
  return { kind: isOwn(name) ? 'activity' : 'tool', name, known: [] };
}

/** True for what the SDK fails an activity with that no worker of the name's has registered. */
export function isUnregistered(name: string, type: string | null | undefined, message: string): boolean {
  return type === 'NotFoundError' && message.startsWith(`Activity function ${name} is not registered`);
}

/** True for the activities that are no call of a tool. */
export function isOwn(name: string): boolean {
  return Object.values<string>(ACTIVITIES).includes(name);
}

function quoted(message: string): string | undefined {
  return /"([^"]*)"/.exec(message)?.[1];
}

function quotedAfter(message: string, mark: string): string[] {
  const [, after = ''] = message.split(mark);
  return [...after.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
}

/** The same activity, to be tried on one worker after the other. */
export function onAnotherWorker<Input, Output, Outcome>(
  given: ActivityRequest<Input, Output, Outcome>,
  { until, attempts, details }: Lack,
  now: number,
): ActivityRequest<Input, Output, Outcome> {
  const call = given.remotely?.() ?? given;
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
      // The worker counts: attempts that none could make are none.
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

/** Nobody knows whether an attempt before has begun. */
function unknownEnd(error: unknown): ApplicationFailure {
  return ApplicationFailure.nonRetryable('No worker that was left has what the call needs', 'UnknownEnd', error);
}

/** Milliseconds before it is scheduled once more, where a worker has ended it that did not count. */
export function pauseMs(times: number): number {
  return times === 0 ? 0 : Math.min(30_000, 1_000 * 2 ** (times - 1));
}
