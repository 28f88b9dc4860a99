import { ApplicationFailure } from '@temporalio/common';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { archiveEventsActivity } from '../../../activities/endings/end-of-execution.ts';
import type { ArchiveBatch, ArchiveSink } from '../../../src/stores/file-archive.ts';
import { QUERIES } from '../../../src/core/protocol.ts';
import { activityEnvironment, EXECUTION, type ActivityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';

beforeEach(() => vi.useFakeTimers({ now: 1_700_000_000_000 }));
afterEach(() => vi.useRealTimers());

const event = { id: 'e0', executionId: 'run-1', timestamp: '2026-01-01T00:00:00.000Z', author: 'user', content: [] };
const answers = {
  [QUERIES.context]: { events: [event], firstOffset: 0, from: 0, total: 1 },
  [QUERIES.steps]: { firstIndex: 0, from: 0, steps: [], total: 0 },
  [QUERIES.data]: { deps: {}, state: {} },
};

function sink(append: (batch: ArchiveBatch) => Promise<void>): ArchiveSink {
  return { append, read: async function* () {}, runsOf: async () => [], deleteRun: () => Promise.resolve() };
}

function environmentWith(append: (batch: ArchiveBatch) => Promise<void>, more: EnvironmentOptions = {}): ActivityEnvironment {
  return activityEnvironment({ answers, archive: sink(append), heartbeatMs: 600_000, ...more });
}

function archive(environment: ActivityEnvironment): Promise<void> {
  return environment.run(archiveEventsActivity(environment.runtime), { from: 0, through: 1 });
}

test('a batch contains the identity on whose behalf the run acts, without its claims', async () => {
  const batches: ArchiveBatch[] = [];
  const principal = { tenant: 'acme', user: 'ada', claims: { role: 'admin' } };
  for (const data of [{ deps: {}, state: {}, principal }, answers[QUERIES.data]]) {
    const given = { answers: { ...answers, [QUERIES.data]: data } };
    await archive(environmentWith(async (batch) => void batches.push(batch), given));
  }
  expect(batches.map((batch) => batch.principal)).toEqual([{ tenant: 'acme', user: 'ada' }, undefined]);
});

const hangs = (): Promise<void> => new Promise(() => undefined);
const gone = (): Promise<void> => Promise.reject(new Error('the bucket is gone'));

/** Makes attempts as a server does, each of this duration, until one fails for good. Returns the waits and the last failure. */
async function attempts(
  takesMs: number,
  fails: () => Promise<void> = gone,
): Promise<{ waits: number[]; last: ApplicationFailure; ms: number }> {
  const waits: number[] = [];
  const began = Date.now();
  let heartbeatDetails: unknown;
  for (let attempt = 1; ; attempt += 1) {
    const environment = environmentWith(fails, { heartbeatDetails, info: { attempt } });
    const ended = archive(environment).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(takesMs);
    const failure = (await ended) as ApplicationFailure;
    if (failure.nonRetryable) return { waits, last: failure, ms: Date.now() - began };
    heartbeatDetails = environment.heartbeats.at(-1);
    const wait = Number(failure.nextRetryDelay);
    waits.push(wait);
    await vi.advanceTimersByTimeAsync(wait);
  }
}

test('an archive that fails is retried after 1, 2, 4 seconds and so on, and given up within five minutes', async () => {
  const { waits, last, ms } = await attempts(0);
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(ms).toBeLessThanOrEqual(300_000);
  expect(last).toMatchObject({ type: 'archive_failed', message: 'the bucket is gone (given up after 10 attempts in 243.0 s)' });
});

test('each attempt at an archive that never answers ends after a minute, and the archive is given up within its time limit', async () => {
  const { waits, last } = await attempts(60_000, hangs);
  expect(waits).toHaveLength(4);
  expect(last.message).toBe('it took more than 60 s (given up after 5 attempts in 315.0 s)');
});

test('the time counts from the first attempt: a worker that takes over much later tries once', async () => {
  const failure = archive(environmentWith(gone, { heartbeatDetails: { begun: Date.now() - 3_600_000 }, info: { attempt: 3 } }));
  await expect(failure).rejects.toMatchObject({ nonRetryable: true, message: expect.stringContaining('after 3 attempts') as string });
  await expect(
    archive(environmentWith(() => Promise.resolve(), { heartbeatDetails: { begun: 0 }, info: { attempt: 3 } })),
  ).resolves.toBeUndefined();
});

test('an archive that gives a retry delay is retried after it, but never after the time limit', async () => {
  const busy = (retryAfterMs: number) => () => Promise.reject(Object.assign(new Error('busy'), { retryAfterMs }));
  await expect(archive(environmentWith(busy(5_000)))).rejects.toMatchObject({ nonRetryable: false, nextRetryDelay: 5_000 });
  await expect(archive(environmentWith(busy(500_000)))).rejects.toMatchObject({ nonRetryable: true });
});

test('a non-retryable error of the archive is not retried, but its own timeout is', async () => {
  const refuses = (): Promise<void> => Promise.reject(ApplicationFailure.nonRetryable('no such bucket'));
  await expect(archive(environmentWith(refuses))).rejects.toMatchObject({
    nonRetryable: true,
    message: expect.stringContaining('no such bucket') as string,
  });
  const aborts = (): Promise<void> => Promise.reject(new DOMException('no answer', 'AbortError'));
  await expect(archive(environmentWith(aborts))).rejects.toMatchObject({
    type: 'archive_failed',
    message: 'no answer',
    nonRetryable: false,
  });
});

test('a worker without the archive leaves the batch to another worker, for the same time', async () => {
  const environment = activityEnvironment({ answers });
  await expect(archive(environment)).rejects.toMatchObject({ type: 'archive_failed', nonRetryable: false, nextRetryDelay: 1_000 });
});

test('a cancelled run does not abort the archiving of a batch; a worker that shuts down hands the batch to another', async () => {
  const written = Promise.withResolvers<void>();
  const environment = environmentWith(() => written.promise);
  const archived = archive(environment);
  await vi.advanceTimersByTimeAsync(1);
  environment.runtime.aborts.abort(EXECUTION);
  await vi.advanceTimersByTimeAsync(1);
  written.resolve();
  await expect(archived).resolves.toBeUndefined();

  const closing = environmentWith(hangs);
  const ended = archive(closing).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1);
  closing.shutDown();
  expect(await ended).toMatchObject({ name: 'CancelledFailure' });
});
