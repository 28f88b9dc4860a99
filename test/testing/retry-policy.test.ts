import { ApplicationFailure, type RetryPolicy, TimeoutFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { failureAsSent, type Retry, retryAfter, type SentFailure } from '../../src/testing/memory/memory-worker.ts';

const after = (policy: RetryPolicy, attempt: number, failure: SentFailure, leftMs = Infinity): Retry =>
  retryAfter(policy, { ...failure, attempt, leftMs });
const failed = { failure: ApplicationFailure.create({ message: 'no', type: 'tool_failed' }) };

describe('after a failed attempt', () => {
  test('the waits grow by the factor, up to the longest', () => {
    const policy = { initialInterval: '1s', backoffCoefficient: 3, maximumInterval: 5_000, maximumAttempts: 10 } as const;
    expect([1, 2, 3, 4].map((attempt) => after(policy, attempt, failed))).toEqual(
      [1_000, 3_000, 5_000, 5_000].map((afterMs) => ({ type: 'again', afterMs })),
    );
  });

  test('a policy without options has the defaults of a server', () => {
    expect([1, 2, 8, 20].map((attempt) => after({}, attempt, failed))).toEqual(
      [1_000, 2_000, 100_000, 100_000].map((afterMs) => ({ type: 'again', afterMs })),
    );
  });

  test('the last attempt is the last', () => {
    expect(after({ maximumAttempts: 2 }, 1, failed)).toEqual({ type: 'again', afterMs: 1_000 });
    expect(after({ maximumAttempts: 2 }, 2, failed)).toEqual({ type: 'end', state: 'MAXIMUM_ATTEMPTS_REACHED' });
  });

  test('a failure with a retry delay gets it, however long', () => {
    const limited = failureAsSent(ApplicationFailure.create({ message: 'later', nextRetryDelay: '1 hour' }));
    expect(after({ maximumInterval: '1s' }, 1, limited)).toEqual({ type: 'again', afterMs: 3_600_000 });
  });

  test('a delay that is longer than the remaining time of the activity ends it', () => {
    expect(after({ initialInterval: '10s' }, 1, failed, 10_001)).toEqual({ type: 'again', afterMs: 10_000 });
    expect(after({ initialInterval: '10s' }, 1, failed, 10_000)).toEqual({ type: 'end', state: 'TIMEOUT' });
  });

  test('a final failure, one of a final type, and one after the total time limit are not retried', () => {
    const end = { type: 'end', state: 'NON_RETRYABLE_FAILURE' };
    expect(after({}, 1, failureAsSent(ApplicationFailure.nonRetryable('no')))).toEqual(end);
    expect(after({ nonRetryableErrorTypes: ['tool_failed'] }, 1, failed)).toEqual(end);
    expect(after({}, 1, { failure: new TimeoutFailure('t', undefined, 'SCHEDULE_TO_CLOSE') })).toEqual(end);
    expect(after({}, 1, { failure: new TimeoutFailure('t', undefined, 'HEARTBEAT') })).toEqual({ type: 'again', afterMs: 1_000 });
  });
});
