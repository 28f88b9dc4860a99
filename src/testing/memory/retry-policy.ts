import { ApplicationFailure, type RetryPolicy, type TemporalFailure, TimeoutFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type { SentFailure } from './payload-round-trip.ts';

/** What a server does where an activity says nothing. */
const DEFAULTS = { initialInterval: 1_000, backoffCoefficient: 2, maximumAttempts: Infinity } as const;
const DEFAULT_MAXIMUM_FACTOR = 100;

/** What becomes of an activity after a failed attempt: another one after so many milliseconds, or the end, and why. */
export type Retry =
  | { type: 'again'; afterMs: number }
  | { type: 'end'; state: 'NON_RETRYABLE_FAILURE' | 'MAXIMUM_ATTEMPTS_REACHED' | 'TIMEOUT' };

/** An attempt that has failed. */
export interface FailedAttempt extends SentFailure {
  /** 1-based. */
  attempt: number;
  /** Milliseconds until the activity as a whole has to be over. */
  leftMs: number;
}

/** What Temporal does after an attempt has failed. */
export function retryAfter(policy: RetryPolicy, { attempt, failure, waitMs, leftMs }: FailedAttempt): Retry {
  if (!isRetryable(policy, failure)) return { type: 'end', state: 'NON_RETRYABLE_FAILURE' };
  // Zero means "without end", too.
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
