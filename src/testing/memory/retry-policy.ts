import { ApplicationFailure, type RetryPolicy, type TemporalFailure, TimeoutFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type { SentFailure } from './as-sent.ts';

/** What a server does where an activity says nothing. */
const DEFAULTS = { initialInterval: 1_000, backoffCoefficient: 2, maximumAttempts: Infinity } as const;
const DEFAULT_MAXIMUM_FACTOR = 100;

/** What becomes of an activity after a failed attempt: another one after so many milliseconds, or the end, and why. */
export type Retry = { type: 'again'; afterMs: number } | { type: 'end'; state: 'NON_RETRYABLE_FAILURE' | 'MAXIMUM_ATTEMPTS_REACHED' };

/** What Temporal does after the `attempt`-th attempt (1-based) has failed that way, and may have asked for a wait. */
export function retryAfter(policy: RetryPolicy, attempt: number, { failure, waitMs }: SentFailure): Retry {
  if (!isRetryable(policy, failure)) return { type: 'end', state: 'NON_RETRYABLE_FAILURE' };
  // Zero means "without end", too.
  if (attempt >= (policy.maximumAttempts || DEFAULTS.maximumAttempts)) return { type: 'end', state: 'MAXIMUM_ATTEMPTS_REACHED' };
  return { type: 'again', afterMs: waitMs ?? backoff(policy, attempt) };
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
