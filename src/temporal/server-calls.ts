import { type Client, isGrpcServiceError, QueryNotRegisteredError } from '@temporalio/client';
import { connectionReason, errorMessage, LonghaulError, memberOf, UsageError } from '../core/domain/errors.ts';
import { ASK_AGAIN } from '../core/protocol.ts';
import { jitter } from './waiting.ts';

/**
 * Runs requests to the server. Rejects with `server_unreachable` if the server no longer answers, and with
 * `invalid_input` if it cannot accept the request.
 */
export async function failIfUnreachable<Value>(client: Client, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw explainedError(client, error);
  }
}

/** As `failIfUnreachable`, for an iterator. Does nothing before the first value is requested. */
export async function* failEachIfUnreachable<Value>(
  client: Client,
  values: () => Promise<AsyncGenerator<Value>> | AsyncGenerator<Value>,
): AsyncGenerator<Value> {
  try {
    yield* await values();
  } catch (error) {
    throw explainedError(client, error);
  }
}

/** Returns the error of a client that is used after it was closed. */
export function closedClientError(options?: ErrorOptions): UsageError {
  return new UsageError('The client is closed: connect() makes another one', options);
}

/** Returns the error of a failed request to the server as callers see it. */
export function explainedError(client: Client, error: unknown): unknown {
  if (error instanceof LonghaulError) return error;
  if (isOfClosedClient(error)) return closedClientError({ cause: error });
  const namespace = missingNamespace(error);
  if (namespace !== undefined) {
    const message = `The Temporal server${addressOf(client)} has no namespace "${namespace}": pass another "namespace", or set TEMPORAL_NAMESPACE`;
    return new LonghaulError('namespace_not_found', message, { cause: error });
  }
  const failed = grpcErrorIn(error);
  switch (failed?.code) {
    case GRPC.unavailable:
    case GRPC.deadlineExceeded:
      return unreachableError(client, failed.details, error);
    case GRPC.invalidArgument:
      return new LonghaulError('invalid_input', `The Temporal server refuses the request (${failed.details}): check ids and names`, {
        cause: error,
      });
    default:
      return error;
  }
}

/** Returns the error for a server that answered when the client connected, and no longer does. */
export function unreachableError(client: Client, why: string, cause: unknown): LonghaulError {
  return new LonghaulError(
    'server_unreachable',
    `The Temporal server${addressOf(client)} no longer answers (${connectionReason(why)}): try again when it is back. Runs are not lost meanwhile`,
    { cause },
  );
}

/** True for the error of a call on a closed channel, which the SDK wraps. */
function isOfClosedClient(error: unknown): boolean {
  return [error, memberOf(error, 'cause')].some((one) => errorMessage(one).includes('Channel has been shut down'));
}

/**
 * Returns the address for a message. A Client made by the caller may have another kind of connection, which does
 * not expose its address.
 */
function addressOf({ connection }: Client): string {
  const address = memberOf(memberOf(connection, 'options'), 'address');
  return typeof address === 'string' ? ` at "${address}"` : '';
}

const MOST_CAUSES = 5;

/** Returns the namespace that the server lacks, if the error says so: the SDK wraps its own error for it. */
function missingNamespace(error: unknown): string | undefined {
  const cause = [error, memberOf(error, 'cause')].find((one) => memberOf(one, 'name') === 'NamespaceNotFoundError');
  return cause === undefined ? undefined : String(memberOf(cause, 'namespace'));
}

/** Returns the error of gRPC, which the SDK wraps. */
function grpcErrorIn(error: unknown): { code: number; details: string } | undefined {
  let cause = error;
  for (let depth = 0; depth < MOST_CAUSES && cause !== undefined; depth += 1) {
    if (isGrpcError(cause)) return cause;
    cause = memberOf(cause, 'cause');
  }
  return undefined;
}

/**
 * The text that replaces every message of an encrypting worker; the SDK drops the part from which it could be
 * decoded.
 */
const ENCODED_MESSAGE = 'Encoded failure';

/**
 * True for the error of a query that can be sent again: its worker loaded the run together with events that no
 * workflow task had handled yet, and refused the query so that the run does not get stuck. With encryption, every
 * refusal of a query may be of this kind.
 */
export function isRetryableQueryError(error: unknown): boolean {
  return error instanceof QueryNotRegisteredError && (error.message.startsWith(ASK_AGAIN) || error.message === ENCODED_MESSAGE);
}

const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 500;

/**
 * Returns the milliseconds to wait before a query is sent again after this many attempts. The workflow task that makes
 * it answerable is already in progress.
 */
export function retryQueryAfterMs(attempts: number): number {
  return jitter(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)));
}

/** The gRPC status codes that this package handles. */
export const GRPC = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  notAllowed: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** True for an error of gRPC itself about a failed call. */
function isGrpcError(error: unknown): error is { code: number; details: string } {
  return isGrpcServiceError(error);
}

/**
 * Returns the status code of a failed call to the server, whether or not the SDK wrapped the error; undefined for any
 * other error.
 */
export function grpcCode(error: unknown): number | undefined {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}

/**
 * No answer in time (two codes), too many requests at once, no poller or no first task yet, a server that is away: all of
 * them pass without a change of the request.
 */
const UNANSWERED = new Set<number | undefined>([
  GRPC.cancelled,
  GRPC.deadlineExceeded,
  GRPC.resourceExhausted,
  GRPC.failedPrecondition,
  GRPC.unavailable,
]);

/** True for the error of an unanswered query: it may be answered later, or from the history. */
export function isUnanswered(error: unknown): boolean {
  return UNANSWERED.has(grpcCode(error));
}
