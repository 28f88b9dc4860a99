import { ApplicationFailure } from '@temporalio/common';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { ERROR_CODES, errorCode, type ErrorCode } from '../../src/core/domain/errors/error.ts';
import { missingDetails } from '../../src/core/domain/errors/missing-details.ts';
import { isInstance, memberOf } from '../../src/core/domain/errors/thrown.ts';
import { MissingHere } from '../attempts/missing-here.ts';
import {
  AS_IT_IS,
  causeOf,
  type Fitting,
  messageOf,
  serializableApplicationFailure,
  serializableCancellation,
  type SerializableFailure,
  withStack,
} from './serializable-failure.ts';
import { retryDelay } from './retry-delay.ts';

/** How a failure is made, beside its code. */
export interface FailureParts {
  /** JSON for who reads the failure. One that was thrown as a failure of Temporal has its own. */
  details?: object | undefined;
  fitting?: Fitting;
}

/**
 * Makes of what was thrown the failure that carries it through Temporal: for an error of ours the code is its type, the table
 * decides whether it is tried again, and a wait that the provider asked for is honoured. An ApplicationFailure stays
 * what it says, and a cancellation one, in as far as they can be reported. Anything else is `otherwise`. Never throws.
 */
export function toFailure(error: unknown, otherwise: ErrorCode, { details, fitting = AS_IT_IS }: FailureParts = {}): SerializableFailure {
  const cancellation = serializableCancellation(error, fitting);
  if (cancellation !== undefined) return cancellation;
  if (isInstance(error, ApplicationFailure)) return serializableApplicationFailure(error, otherwise, fitting);
  const code = errorCode(error) ?? otherwise;
  const wait = retryDelay(memberOf(error, 'retryAfterMs')) ?? 0;
  const said = isInstance(error, MissingHere) ? missingDetails(error.missing) : details;
  const isRetryable = ERROR_CODES[code].retryable && !isInstance(error, MissingHere);
  const cause = causeOf(error, fitting);
  const failure = ApplicationFailure.create({
    type: code,
    message: messageOf(error, fitting),
    nonRetryable: !isRetryable,
    // No wait at all would replace Temporal's own.
    ...(wait > 0 ? { nextRetryDelay: wait } : {}),
    ...(said === undefined ? {} : { details: [said] }),
    ...(cause === undefined ? {} : { cause }),
  });
  // Where it was thrown, as the log and the Temporal UI show it.
  return withStack(failure, error, fitting);
}

/** An activity whose errors of ours reach Temporal as the failures that the table of codes says; any other error is `otherwise`. `details` go with them. */
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

/** A failure of `code` that is not tried again. */
export function permanent(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message: cutText(message.toWellFormed(), BYTE_BUDGETS.errorMessage), nonRetryable: true });
}
