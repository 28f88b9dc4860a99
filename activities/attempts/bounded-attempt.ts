import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type ErrorCode, errorMessage } from '../../src/core/domain/errors/error.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import { runAttempt } from './attempt.ts';
import { toFailure } from '../failures/failure.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { NO_CHANGE, withStack } from '../failures/serializable-failure.ts';
import { withTimeout } from './with-timeout.ts';

/** The bound of an activity's attempts. */
export interface AttemptBound {
  /**
   * Milliseconds from the start of the first attempt. A failed attempt is the last one if the next would start later
   * than that.
   */
  totalMs: number;
  /** The code of failures without a code. */
  code: ErrorCode;
}

/** An attempt is aborted after this fraction of the total time: a fifth. */
const ATTEMPT_SHARE = 5;
/** Less than the five minutes that the server gives an attempt. */
const LONGEST_ATTEMPT_MS = 270_000;
/**
 * The wait after the first attempt is this fraction of the total time: a second of five minutes. It doubles with every
 * attempt, up to the time of one attempt.
 */
const FIRST_WAIT_SHARE = 300;

/**
 * Runs one attempt of an activity whose attempts together take a bounded time, and sets the delay of the next one. The
 * time counts from the start of the first attempt, which is passed on by heartbeat details, so that waiting for a
 * worker is not counted. A cancellation of the run does not affect the attempt; a shutdown of the worker ends it, and
 * another worker takes over.
 */
export async function boundedAttempt<Result>(
  { aborts, heartbeatMs }: Pick<ActivityRuntime, 'aborts' | 'heartbeatMs'>,
  bound: AttemptBound,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const start = { begun: firstAttemptStart(activityInfo().heartbeatDetails) ?? Date.now() };
  const stop = cancellationSignal();
  return runAttempt(aborts, { heartbeatMs, details: () => start }, async (current) => {
    try {
      return await withTimeout(work, { ms: longestAttemptMs(bound), stop });
    } catch (error) {
      // Reaches the server together with the failure.
      current.heartbeat(start);
      throw stop.aborted ? error : failureOf(error, bound, Date.now() - start.begun);
    }
  });
}

function longestAttemptMs({ totalMs }: AttemptBound): number {
  return Math.min(totalMs / ATTEMPT_SHARE, LONGEST_ATTEMPT_MS);
}

function firstAttemptStart(details: unknown): number | undefined {
  return isJsonObject(details) && typeof details['begun'] === 'number' ? details['begun'] : undefined;
}

/**
 * Returns the failure of an attempt, retryable only if there is time for another one. It sets every delay itself and
 * leaves none to the retry policy.
 */
function failureOf(error: unknown, bound: AttemptBound, elapsedMs: number): ApplicationFailure {
  const { attempt: attempts } = activityInfo();
  const failure = toFailure(error, bound.code);
  const applicationFailure = failure instanceof ApplicationFailure ? failure : undefined;
  const doubled = (bound.totalMs / FIRST_WAIT_SHARE) * 2 ** (attempts - 1);
  const wait = applicationFailure?.nextRetryDelay ?? Math.max(1, Math.round(Math.min(doubled, longestAttemptMs(bound))));
  const isLast = applicationFailure?.nonRetryable === true || (typeof wait === 'number' && elapsedMs + wait > bound.totalMs);
  const message = applicationFailure?.message ?? errorMessage(error);
  const result = ApplicationFailure.create({
    type: applicationFailure?.type ?? bound.code,
    message: isLast ? `${message} (given up after ${attemptsText(attempts)} in ${(elapsedMs / 1000).toFixed(1)} s)` : message,
    nonRetryable: isLast,
    ...(isLast ? {} : { nextRetryDelay: wait }),
    ...(failure.cause === undefined ? {} : { cause: failure.cause as Error }),
  });
  return withStack(result, failure, NO_CHANGE);
}

function attemptsText(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
