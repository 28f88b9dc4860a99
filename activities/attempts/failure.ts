import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import { BYTE_BUDGETS, cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defined, type JsonValue } from '../../src/core/domain/json.ts';
import { ERROR_CODES, type ErrorCode, errorCode, errorMessage, isInstance, LonghaulError, memberOf } from '../../src/core/domain/errors.ts';
import { knownText, listedNames, missingDetails, type MissingThing } from '../../src/core/domain/missing-definitions.ts';
import { cleanJson } from '../../src/model/parse-json.ts';

/** Parts of a failure in addition to its code. */
interface FailureParts {
  /** JSON for the reader of the failure. An error that is already a Temporal failure keeps its own details. */
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
    ...defined({ cause }),
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

/** The longest delay that a failure may ask for. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1_000;

/**
 * Returns the delay before the next attempt in a form that Temporal accepts: whole milliseconds, at most a day. Returns
 * undefined for an invalid delay: encoding it would throw where nothing catches the error, and end the worker.
 */
export function retryDelay(wait: unknown): number | undefined {
  const ms = typeof wait === 'string' ? millisecondsOf(wait) : wait;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) return undefined;
  return Math.ceil(Math.min(ms, LONGEST_WAIT_MS));
}

function millisecondsOf(text: string): number | undefined {
  try {
    return msToNumber(text as Parameters<typeof msToNumber>[0]);
  } catch {
    return undefined;
  }
}

/**
 * Failures that can be reported. The SDK encodes the failure of an activity in code that catches no errors: a failure with a BigInt in its
 * details, a delay of NaN, or a stack that is not a string would end the worker. Therefore no failure is passed on unchanged: each one is
 * rebuilt from serializable parts.
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

/** The maximum bytes of a type, which is a name. */
const TYPE_BYTES = 200;
const MOST_CAUSES = 4;
const MOST_DETAILS = 100;
/** The maximum bytes of JSON of all details together. */
const DETAILS_BYTES = 64_000;

/** A cancellation, which Temporal recognizes by its name. */
class AbortError extends Error {
  override readonly name = 'AbortError';
}

/** Returns the thrown cancellation; undefined for any other value. */
function serializableCancellation(error: unknown, sanitizer: Sanitizer): CancelledFailure | AbortError | undefined {
  if (isInstance(error, CancelledFailure)) {
    const cancelled = new CancelledFailure(messageOf(error, sanitizer), detailsOf(error, sanitizer) ?? [], causeOf(error, sanitizer));
    return withStack(cancelled, error, sanitizer);
  }
  if (memberOf(error, 'name') !== 'AbortError') return undefined;
  return withStack(new AbortError(messageOf(error, sanitizer)), error, sanitizer);
}

/** Returns the failure thrown by the user's code, with its serializable parts. A failure without a type gets `otherwise`. */
function serializableApplicationFailure(error: ApplicationFailure, otherwise: ErrorCode, sanitizer: Sanitizer): ApplicationFailure {
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
    ...defined({ details, nextRetryDelay: wait }),
    ...(memberOf(error, 'category') === ApplicationFailureCategory.BENIGN ? { category: ApplicationFailureCategory.BENIGN } : {}),
    ...defined({ cause }),
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
  return withStack(new Error(messageOf(cause, sanitizer), defined({ cause: below })), cause, sanitizer);
}

/** Returns the details as JSON. A detail that is not JSON is replaced by a text that says so, as are all details if they are too large. */
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

/**
 * The error of a worker that lacks something that another worker may have, for instance during a deploy. Nothing was started: the task goes
 * to another worker of the queue, and the attempt does not count.
 */
export class MissingOnWorkerError extends LonghaulError {
  override readonly name = 'MissingOnWorkerError';
  readonly missing: MissingThing;

  constructor(code: ErrorCode, message: string, { known, ...thing }: MissingThing) {
    super(code, message);
    this.missing = { ...thing, known: listedNames(thing.name, known) };
  }
}

/** Returns the error of a worker that lacks something, with the available names. */
export function missingOnWorker(code: ErrorCode, what: string, thing: MissingThing): MissingOnWorkerError {
  const error = new MissingOnWorkerError(code, what, thing);
  error.message = `${what}. ${knownText(error.missing)}`.trimEnd();
  return error;
}

/** The maximum number of entries. Beyond it all are dropped, including entries of runs that have ended. */
const MAX_ENTRIES = 10_000;

/** Names that runs have waited for in vain on this worker: waiting again would delay each of the runs' steps. */
export class MissingNames {
  readonly #keys = new Set<string>();

  add(key: string): void {
    if (this.#keys.size >= MAX_ENTRIES) this.#keys.clear();
    this.#keys.add(key);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }
}
