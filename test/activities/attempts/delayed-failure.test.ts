import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { withGrowingDelay } from '../../../activities/attempts/checked-activity.ts';
import { activityEnvironment } from '../activity-environment.ts';

/** Returns the failure of an attempt of an activity that throws this value. */
function failureOf(thrown: unknown, info: { attempt?: number; isLocal?: boolean } = {}): Promise<unknown> {
  return activityEnvironment({ info })
    .run(
      withGrowingDelay(() => Promise.reject(thrown)),
      null,
    )
    .catch((error: unknown) => error);
}

const down = (): ApplicationFailure =>
  ApplicationFailure.create({ message: 'down', type: 'internal', details: [1], cause: new Error('c') });

describe('an attempt that fails', () => {
  test.each([
    { attempt: 1, delay: 1_000 },
    { attempt: 2, delay: 2_000 },
    { attempt: 5, delay: 16_000 },
    { attempt: 7, delay: 60_000 },
    { attempt: 100, delay: 60_000 },
  ])('is followed by the next one after $delay ms, if it is attempt $attempt', async ({ attempt, delay }) => {
    const thrown = down();
    const failure = await failureOf(thrown, { attempt });
    expect(failure).toMatchObject({ message: 'down', type: 'internal', nonRetryable: false, nextRetryDelay: delay, details: [1] });
    expect(failure).toHaveProperty('stack', thrown.stack);
  });

  test.each([
    { what: 'a final failure', thrown: ApplicationFailure.nonRetryable('no') },
    { what: 'a failure with a delay of its own', thrown: ApplicationFailure.create({ message: 'later', nextRetryDelay: 50 }) },
    { what: 'a cancellation', thrown: new CancelledFailure('cancelled') },
  ])('is unchanged if it is $what', async ({ thrown }) => {
    expect(await failureOf(thrown)).toBe(thrown);
  });

  test('is unchanged if it is local', async () => {
    const thrown = down();
    expect(await failureOf(thrown, { isLocal: true })).toBe(thrown);
  });
});
