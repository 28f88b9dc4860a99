import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { errorMessage, type ErrorCode } from '../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { isInstance, memberOf } from '../../src/core/domain/errors/thrown.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { retryDelay } from './retry-delay.ts';

/**
 * Failures that can be reported. The SDK encodes the failure of an activity in code that catches no errors: a failure
 * with a BigInt in its details, a delay of NaN, or a stack that is not a string would end the worker. Therefore no
 * failure is passed on as it was thrown: each one is rebuilt from parts that can be serialized.
 */

/** A failure that an activity may throw. */
export type SerializableFailure = ApplicationFailure | CancelledFailure | AbortError;

/** Rewrites the texts and the details of a failure. */
export interface Sanitizer {
  text: (text: string, maxBytes: number) => string;
  json: (value: JsonValue) => JsonValue;
}

/** Leaves texts and details unchanged. */
export const NO_CHANGE: Sanitizer = { text: (text) => text, json: (value) => value };

/** The most bytes of a type, which is a name. */
const TYPE_BYTES = 200;
const MOST_CAUSES = 4;
const MOST_DETAILS = 100;
/** The most bytes of JSON of all details together. */
const DETAILS_BYTES = 64_000;

/** A cancellation, which Temporal recognises by its name. */
class AbortError extends Error {
  override readonly name = 'AbortError';
}

/** Returns the thrown cancellation; undefined for any other value. */
export function serializableCancellation(error: unknown, sanitizer: Sanitizer): CancelledFailure | AbortError | undefined {
  if (isInstance(error, CancelledFailure)) {
    const cancelled = new CancelledFailure(messageOf(error, sanitizer), detailsOf(error, sanitizer) ?? [], causeOf(error, sanitizer));
    return withStack(cancelled, error, sanitizer);
  }
  if (memberOf(error, 'name') !== 'AbortError') return undefined;
  return withStack(new AbortError(messageOf(error, sanitizer)), error, sanitizer);
}

/**
 * Returns the failure that the user's code has thrown, with its serializable parts. A failure without a type gets
 * `otherwise`.
 */
export function serializableApplicationFailure(error: ApplicationFailure, otherwise: ErrorCode, sanitizer: Sanitizer): ApplicationFailure {
  return applicationFailure(error, otherwise, sanitizer, []);
}

function applicationFailure(
  error: ApplicationFailure,
  otherwise: ErrorCode,
  sanitizer: Sanitizer,
  above: readonly unknown[],
): ApplicationFailure {
  const type = memberOf(error, 'type');
  const details = detailsOf(error, sanitizer);
  const cause = causeOf(error, sanitizer, above);
  const wait = retryDelay(memberOf(error, 'nextRetryDelay'));
  const failure = ApplicationFailure.create({
    type: typeof type === 'string' && type !== '' ? sanitizer.text(type.toWellFormed(), TYPE_BYTES) : otherwise,
    message: messageOf(error, sanitizer),
    nonRetryable: memberOf(error, 'nonRetryable') === true,
    ...(details === undefined ? {} : { details }),
    ...(wait === undefined ? {} : { nextRetryDelay: wait }),
    ...(memberOf(error, 'category') === ApplicationFailureCategory.BENIGN ? { category: ApplicationFailureCategory.BENIGN } : {}),
    ...(cause === undefined ? {} : { cause }),
  });
  return withStack(failure, error, sanitizer);
}

/** Returns a message for any thrown value. */
export function messageOf(error: unknown, sanitizer: Sanitizer): string {
  const message = errorMessage(error) || `[${nameOf(error)} without a message]`;
  return sanitizer.text(message.toWellFormed(), BYTE_BUDGETS.errorMessage);
}

function nameOf(error: unknown): string {
  const name = memberOf(error, 'name');
  return typeof name === 'string' && name !== '' ? name : 'An error';
}

/** Gives a failure the stack of the original error: its own would only show the conversion. */
export function withStack<Failure extends Error>(failure: Failure, error: unknown, sanitizer: Sanitizer): Failure {
  const stack = memberOf(error, 'stack');
  failure.stack = typeof stack === 'string' ? sanitizer.text(stack.toWellFormed(), BYTE_BUDGETS.errorMessage) : '';
  return failure;
}

/** Returns the chain of causes, rebuilt from serializable parts; undefined if the error has no cause. */
export function causeOf(error: unknown, sanitizer: Sanitizer, above: readonly unknown[] = []): Error | undefined {
  const cause = memberOf(error, 'cause');
  const path = [...above, error];
  if (cause === undefined || cause === null || path.includes(cause)) return undefined;
  if (path.length > MOST_CAUSES) return new Error('[The causes of this error are left out]');
  if (isInstance(cause, ApplicationFailure)) return applicationFailure(cause, 'internal', sanitizer, path);
  const below = causeOf(cause, sanitizer, path);
  return withStack(new Error(messageOf(cause, sanitizer), below === undefined ? {} : { cause: below }), cause, sanitizer);
}

/**
 * Returns the details as JSON. A detail that is not JSON is replaced by a text that says so, and so are all of them if
 * they are too large.
 */
function detailsOf(error: unknown, { json }: Sanitizer): JsonValue[] | undefined {
  const details = memberOf(error, 'details');
  if (details === undefined || details === null) return undefined;
  const read = readDetails(details);
  if (read === undefined) return ['[The details of this failure cannot be read]'];
  const serializable = read.map((one) => json(one));
  const bytes = jsonBytes(serializable);
  return bytes <= DETAILS_BYTES ? serializable : [`[The details of this failure are ${bytes} bytes of JSON, over ${DETAILS_BYTES}]`];
}

function readDetails(details: unknown): JsonValue[] | undefined {
  try {
    if (!Array.isArray(details)) return undefined;
    const first: unknown[] = details.slice(0, MOST_DETAILS);
    return first.map((one) => {
      const clean = one === undefined ? null : cleanJson(one);
      return clean === undefined ? '[This detail is not JSON, or nested too deep]' : clean;
    });
  } catch {
    return undefined;
  }
}
