import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { BYTE_BUDGETS } from '../src/domain/byte-budget.ts';
import { cutText } from '../src/domain/cut-content.ts';
import { ERROR_CODES, errorCode, errorMessage, type ErrorCode } from '../src/domain/error.ts';

/**
 * An error of ours as the ApplicationFailure that carries it through Temporal: the code is its type, the table
 * decides whether it is tried again, and a wait that the provider asked for is honoured. Failures and
 * cancellations of Temporal pass unchanged. Any other error is `otherwise`; `details` are JSON for who reads the failure.
 */
export function toFailure(error: unknown, otherwise: ErrorCode, details?: object): unknown {
  if (error instanceof TemporalFailure || isAbort(error)) return error;
  const code = errorCode(error) ?? otherwise;
  const wait = retryAfter(error);
  return ApplicationFailure.create({
    type: code,
    message: fitMessage(errorMessage(error)),
    nonRetryable: !ERROR_CODES[code].retryable,
    ...(wait === undefined ? {} : { nextRetryDelay: wait }),
    ...(details === undefined ? {} : { details: [details] }),
  });
}

/** An activity whose errors of ours reach Temporal as the failures that the table of codes says; any other error is `otherwise`. */
export function failingAs<Input, Output>(otherwise: ErrorCode, work: (input: Input) => Promise<Output>): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await work(input);
    } catch (error) {
      throw toFailure(error, otherwise);
    }
  };
}

/** A failure of `code` that is not tried again. */
export function permanent(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message: fitMessage(message), nonRetryable: true });
}

/** A failure that is too large could not be reported, and would be tried again for ever. */
function fitMessage(message: string): string {
  return cutText(message.toWellFormed(), BYTE_BUDGETS.errorMessage);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function retryAfter(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('retryAfterMs' in error)) return undefined;
  return typeof error.retryAfterMs === 'number' ? error.retryAfterMs : undefined;
}
