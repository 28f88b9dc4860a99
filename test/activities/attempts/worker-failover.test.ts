import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { attemptNumber, lastDetails, runAttempt } from '../../../activities/attempts/attempt.ts';
import { MissingOnWorkerError } from '../../../activities/attempts/failure.ts';
import { withWorkerFailover } from '../../../activities/attempts/checked-activity.ts';
import { withUncountedAttempts, type WorkerWait } from '../../../src/core/domain/missing-definitions.ts';
import { activityEnvironment, type ActivityEnvironment } from '../activity-environment.ts';

interface Attempt {
  attempt: number;
  /** The number of earlier attempts that reached a worker without the tool. */
  lacked?: number;
  details?: unknown;
  /** Milliseconds between the scheduling of the activity and of the attempt. */
  elapsedMs?: number;
  wait?: WorkerWait;
}

const WAIT: WorkerWait = { forMs: 60_000, attempts: 2 };

function environmentOf({ attempt: number, lacked = 0, details, elapsedMs = 0 }: Attempt): ActivityEnvironment {
  const times = { scheduledTimestampMs: 1_000, currentAttemptScheduledTimestampMs: 1_000 + elapsedMs };
  return activityEnvironment({ heartbeatDetails: withUncountedAttempts(lacked, details), info: { attempt: number, ...times } });
}

/** Runs one attempt, and returns its output or its failure. */
async function attempted(
  given: Attempt,
  work: (environment: ActivityEnvironment) => Promise<unknown>,
): Promise<{ environment: ActivityEnvironment; failure?: ApplicationFailure; output?: unknown }> {
  const environment = environmentOf(given);
  const activity = withWorkerFailover(environment.runtime, () => work(environment));
  const input = given.wait === undefined ? {} : { awaitsWorker: given.wait };
  try {
    return { environment, output: await environment.run(activity, input) };
  } catch (failure) {
    return { environment, failure: failure as ApplicationFailure };
  }
}

const lacks = (): Promise<never> =>
  Promise.reject(new MissingOnWorkerError('unknown_tool', 'No tool "b"', { kind: 'tool', name: 'b', known: ['a'] }));
const throws = (): Promise<never> => Promise.reject(ApplicationFailure.retryable('down', 'tool_failed'));

describe('a worker that lacks a tool', () => {
  test('fails the activity at once, with the missing name, the worker, the attempt and the time to wait', async () => {
    const { failure, environment } = await attempted({ attempt: 2, details: 'half' }, lacks);
    expect(failure).toMatchObject({ type: 'unknown_tool', nonRetryable: true, stack: '' });
    const missing = { kind: 'tool', name: 'b', known: ['a'], worker: 'worker-1', forMs: 600_000, attempt: 2, details: 'half' };
    expect(failure?.details).toEqual([{ 'longhaul:missing': missing }]);
    expect(environment.heartbeats).toEqual([]);
  });

  test('leaves a waiting activity to the next worker, and counts the attempt as one that was not made', async () => {
    const { failure, environment } = await attempted({ attempt: 4, lacked: 2, details: 'half', wait: WAIT }, lacks);
    expect(failure).toMatchObject({ type: 'unknown_tool', nonRetryable: false, nextRetryDelay: 1_000 });
    expect(failure?.details).toMatchObject([
      { 'longhaul:missing': { since: '1970-01-01T00:00:01.000Z', until: '1970-01-01T00:01:01.000Z' } },
    ]);
    expect(environment.heartbeats).toEqual([withUncountedAttempts(3, 'half')]);
  });

  test('is logged at the beginning and at the end of the wait, not at each attempt, and without a stack', async () => {
    const first = { attempt: 1 };
    const waiting = { attempt: 9, lacked: 8, elapsedMs: 30_000, wait: WAIT };
    const last = { attempt: 30, lacked: 29, elapsedMs: 56_000, wait: WAIT };
    const failures = [first, waiting, last].map(async (attempt) => (await attempted(attempt, lacks)).failure);
    // The SDK logs a benign failure at the level DEBUG alone.
    expect((await Promise.all(failures)).map((failure) => [failure?.category, failure?.stack])).toEqual([
      [undefined, ''],
      [ApplicationFailureCategory.BENIGN, ''],
      [undefined, ''],
    ]);
  });

  test('ends the activity after the time to wait for other workers', async () => {
    const { failure } = await attempted({ attempt: 30, lacked: 29, elapsedMs: 56_000, wait: WAIT }, lacks);
    expect(failure).toMatchObject({ type: 'unknown_tool', nonRetryable: true });
    expect(failure?.details).toMatchObject([{ 'longhaul:missing': { gaveUp: true } }]);
  });
});

describe('an activity that waits for a worker', () => {
  test('counts only the attempts that were made', async () => {
    const { output } = await attempted({ attempt: 9, lacked: 8, wait: WAIT }, () => Promise.resolve(attemptNumber()));
    expect(output).toBe(1);
  });

  test('gets the heartbeat details of the attempts before, made before or during its wait', async () => {
    const told = (): Promise<unknown> => Promise.resolve(lastDetails());
    expect((await attempted({ attempt: 2, lacked: 1, details: 'now', wait: { ...WAIT, details: 'before' } }, told)).output).toBe('now');
    expect((await attempted({ attempt: 2, lacked: 1, wait: { ...WAIT, details: 'before' } }, told)).output).toBe('before');
  });

  test('is retried as often as its policy allows, and fails for good at its last attempt', async () => {
    expect((await attempted({ attempt: 4, lacked: 3, wait: WAIT }, throws)).failure).toMatchObject({ nonRetryable: false });
    expect((await attempted({ attempt: 5, lacked: 3, wait: WAIT }, throws)).failure).toMatchObject({
      type: 'tool_failed',
      nonRetryable: true,
    });
  });

  test('waits before the next attempt as long as the number of attempts that were made requires', async () => {
    const retryPolicy = { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 60_000 };
    const environment = activityEnvironment({ heartbeatDetails: withUncountedAttempts(20, undefined), info: { attempt: 21, retryPolicy } });
    const failing = environment.run(withWorkerFailover(environment.runtime, throws), { awaitsWorker: WAIT });
    await expect(failing).rejects.toMatchObject({ type: 'tool_failed', nonRetryable: false, nextRetryDelay: 1_000 });
  });

  test('does not start again after its last attempt was lost; with effect `once`, that is the first', async () => {
    let begun = false;
    const begin = (): Promise<void> => {
      begun = true;
      return Promise.resolve();
    };
    const { failure } = await attempted({ attempt: 3, lacked: 1, wait: { ...WAIT, attempts: 1 } }, begin);
    expect(failure).toMatchObject({ type: 'AttemptsUsedUp', nonRetryable: true });
    expect(begun).toBe(false);
  });

  test('does not start if it is unknown whether an earlier attempt was made', async () => {
    const { failure } = await attempted({ attempt: 2, wait: { ...WAIT, attempts: 1 } }, () => Promise.resolve('acted'));
    expect(failure).toMatchObject({ type: 'AttemptsUsedUp' });
  });

  test('keeps the count in every heartbeat', async () => {
    const { environment } = await attempted({ attempt: 3, lacked: 2, wait: WAIT }, ({ runtime }) =>
      runAttempt(runtime.aborts, { heartbeatMs: 60_000 }, async (own) => own.heartbeat('half')),
    );
    expect(environment.heartbeats).toEqual([withUncountedAttempts(2, 'half')]);
  });
});
