import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NO_CHANGE, withStack } from '../failures/serializable-failure.ts';
import { attemptNumber } from './worker-wait.ts';

/** The delays after attempts that have failed, in milliseconds. Each is twice as long as the one before. */
const DELAY_MS = { first: 1_000, longest: 60_000 };

/**
 * Wraps an activity whose failures are retried after a delay that grows. The delay of its retry policy does not: it is for attempts that
 * were lost with their worker.
 */
export function withGrowingDelay<Input, Output>(activity: (input: Input) => Promise<Output>): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      throw delayed(error);
    }
  };
}

function delayed(error: unknown): unknown {
  if (!(error instanceof ApplicationFailure) || error.nonRetryable || error.nextRetryDelay) return error;
  // The worker retries a local activity itself, as its policy says.
  if (activityInfo().isLocal) return error;
  const { message, type, details, cause, category } = error;
  const delayMs = Math.min(DELAY_MS.longest, DELAY_MS.first * 2 ** (attemptNumber() - 1));
  return withStack(new ApplicationFailure(message, type, false, details, cause, delayMs, category), error, NO_CHANGE);
}
