import { isGrpcServiceError } from '@temporalio/client';

/** The gRPC status codes that this package handles. */
export const GRPC = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
} as const;

/** True for an error of gRPC itself about a failed call. */
export function isGrpcError(error: unknown): error is { code: number; details: string } {
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

/** True for the error of a query that nothing has answered so far: it may be answered later, or by the history. */
export function isUnanswered(error: unknown): boolean {
  return UNANSWERED.has(grpcCode(error));
}
