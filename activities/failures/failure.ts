import { ApplicationFailure } from '@temporalio/common';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { ERROR_CODES, errorCode, type ErrorCode } from '../../src/core/domain/errors/error.ts';
import { missingDetails } from '../../src/core/domain/errors/missing-details.ts';
import { isInstance, memberOf } from '../../src/core/domain/errors/thrown.ts';
import { MissingOnWorkerError } from '../attempts/missing-on-worker.ts';
import {
  NO_CHANGE,
  causeOf,
  type Sanitizer,
  messageOf,
  serializableApplicationFailure,
  serializableCancellation,
  type SerializableFailure,
  withStack,
} from './serializable-failure.ts';
import { retryDelay } from './retry-delay.ts';

/** Parts of a failure besides its code. */
export interface FailureParts {
  /** JSON for the reader of the failure. An error that is a Temporal failure already keeps its own details. */
  details?: object | undefined;
  /** True: another attempt may help, although the table says that the code is not retried. */
  isRetryable?: boolean;
  sanitizer?: Sanitizer;
}

/**
 * Converts any thrown value into a failure that Temporal can carry. An error of Longhaul keeps its code as the type;
 * the table of codes decides whether it is retried, and a delay that the provider asked for is applied.
 * ApplicationFailures and cancellations are kept as far as they can be serialized. Any other error gets the code
 * `otherwise`. Never throws.
 */
export function toFailure(
  error: unknown,
  otherwise: ErrorCode,
  { details, isRetryable: mayRetry = false, sanitizer = NO_CHANGE }: FailureParts = {},
): SerializableFailure {
  const cancellation = serializableCancellation(error, sanitizer);
  if (cancellation !== undefined) return cancellation;
  if (isInstance(error, ApplicationFailure)) return serializableApplicationFailure(error, otherwise, sanitizer);
  const code = errorCode(error) ?? otherwise;
  const wait = retryDelay(memberOf(error, 'retryAfterMs')) ?? 0;
  const failureDetails = isInstance(error, MissingOnWorkerError) ? missingDetails(error.missing) : details;
  const isRetryable = (mayRetry || ERROR_CODES[code].retryable) && !isInstance(error, MissingOnWorkerError);
  const cause = causeOf(error, sanitizer);
  const failure = ApplicationFailure.create({
    type: code,
    message: messageOf(error, sanitizer),
    nonRetryable: !isRetryable,
    // A delay of zero would replace Temporal's own backoff.
    ...(wait > 0 ? { nextRetryDelay: wait } : {}),
    ...(failureDetails === undefined ? {} : { details: [failureDetails] }),
    ...(cause === undefined ? {} : { cause }),
  });
  // The stack shows the origin of the error in the log and in the Temporal UI.
  return withStack(failure, error, sanitizer);
}

/**
 * Wraps an activity so that its errors reach Temporal as failures with a code: errors of Longhaul keep theirs, any
 * other gets `otherwise`. `details` are added to the failures.
 */
export function failingAs<Input, Output>(
  otherwise: ErrorCode,
  work: (input: Input) => Promise<Output>,
  details?: object,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await work(input);
    } catch (error) {
      throw toFailure(error, otherwise, { details });
    }
  };
}

/** Creates a failure of `code` that is not retried. */
export function permanentFailure(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message: cutText(message.toWellFormed(), BYTE_BUDGETS.errorMessage), nonRetryable: true });
}
