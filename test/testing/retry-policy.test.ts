import { ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { failureAsSent } from '../../src/testing/memory/as-sent.ts';
import { retryAfter } from '../../src/testing/memory/retry-policy.ts';

const failed = { failure: ApplicationFailure.create({ message: 'no', type: 'tool_failed' }) };

describe('after a failed attempt', () => {
  test('the waits grow by the factor, up to the longest', () => {
    const policy = { initialInterval: '1s', backoffCoefficient: 3, maximumInterval: 5_000, maximumAttempts: 10 } as const;
    expect([1, 2, 3, 4].map((attempt) => retryAfter(policy, attempt, failed))).toEqual(
      [1_000, 3_000, 5_000, 5_000].map((afterMs) => ({ type: 'again', afterMs })),
    );
  });

  test('a policy that says nothing is that of a server', () => {
    expect([1, 2, 8, 20].map((attempt) => retryAfter({}, attempt, failed))).toEqual(
      [1_000, 2_000, 100_000, 100_000].map((afterMs) => ({ type: 'again', afterMs })),
    );
  });

  test('the last attempt is the last', () => {
    expect(retryAfter({ maximumAttempts: 2 }, 1, failed)).toEqual({ type: 'again', afterMs: 1_000 });
    expect(retryAfter({ maximumAttempts: 2 }, 2, failed)).toEqual({ type: 'end', state: 'MAXIMUM_ATTEMPTS_REACHED' });
  });

  test('a failure that asks for a wait gets it, however long', () => {
    const limited = failureAsSent(ApplicationFailure.create({ message: 'later', nextRetryDelay: '1 hour' }));
    expect(retryAfter({ maximumInterval: '1s' }, 1, limited)).toEqual({ type: 'again', afterMs: 3_600_000 });
  });

  test('what is final, of a type that is, or not in time for the whole is not tried again', () => {
    const end = { type: 'end', state: 'NON_RETRYABLE_FAILURE' };
    expect(retryAfter({}, 1, failureAsSent(ApplicationFailure.nonRetryable('no')))).toEqual(end);
    expect(retryAfter({ nonRetryableErrorTypes: ['tool_failed'] }, 1, failed)).toEqual(end);
    expect(retryAfter({}, 1, { failure: new TimeoutFailure('t', undefined, 'SCHEDULE_TO_CLOSE') })).toEqual(end);
    expect(retryAfter({}, 1, { failure: new TimeoutFailure('t', undefined, 'HEARTBEAT') })).toEqual({ type: 'again', afterMs: 1_000 });
  });
});
