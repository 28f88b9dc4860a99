import { ApplicationFailure, type RetryPolicy, type TemporalFailure, TimeoutFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type { SentFailure } from './payload-round-trip.ts';

/** The server's defaults if an activity sets no retry policy. */
const DEFAULTS = { initialInterval: 1_000, backoffCoefficient: 2, maximumAttempts: Infinity } as const;
const DEFAULT_MAXIMUM_FACTOR = 100;

/** The consequence of a failed attempt: another attempt after so many milliseconds, or the end, with the reason. */
export type Retry =
  | { type: 'again'; afterMs: number }
  | { type: 'end'; state: 'NON_RETRYABLE_FAILURE' | 'MAXIMUM_ATTEMPTS_REACHED' | 'TIMEOUT' };

/** A failed attempt. */
export interface FailedAttempt extends SentFailure {
  /** The number of the attempt, 1-based. */
  attempt: number;
  /** The remaining time of the activity, in milliseconds. */
  leftMs: number;
}

/** Returns what Temporal does after a failed attempt. */
export function retryAfter(policy: RetryPolicy, { attempt, failure, waitMs, leftMs }: FailedAttempt): Retry {
  if (!isRetryable(policy, failure)) return { type: 'end', state: 'NON_RETRYABLE_FAILURE' };
  // Zero also means no limit.
  if (attempt >= (policy.maximumAttempts || DEFAULTS.maximumAttempts)) return { type: 'end', state: 'MAXIMUM_ATTEMPTS_REACHED' };
  const afterMs = waitMs ?? backoff(policy, attempt);
  return afterMs < leftMs ? { type: 'again', afterMs } : { type: 'end', state: 'TIMEOUT' };
}

function isRetryable({ nonRetryableErrorTypes = [] }: RetryPolicy, failure: TemporalFailure): boolean {
  if (failure instanceof TimeoutFailure) return failure.timeoutType === 'START_TO_CLOSE' || failure.timeoutType === 'HEARTBEAT';
  if (!(failure instanceof ApplicationFailure)) return true;
  return failure.nonRetryable !== true && !nonRetryableErrorTypes.includes(failure.type ?? '');
}

function backoff(policy: RetryPolicy, attempt: number): number {
  const initial = msToNumber(policy.initialInterval ?? DEFAULTS.initialInterval);
  const longest = policy.maximumInterval === undefined ? initial * DEFAULT_MAXIMUM_FACTOR : msToNumber(policy.maximumInterval);
  return Math.min(longest, initial * (policy.backoffCoefficient ?? DEFAULTS.backoffCoefficient) ** (attempt - 1));
}
