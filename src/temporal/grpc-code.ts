import { isGrpcServiceError } from '@temporalio/client';

/** The gRPC status codes that something here depends on. */
export const GRPC = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
} as const;

/** True for what gRPC itself says of a call that failed. */
export function isGrpcError(error: unknown): error is { code: number; details: string } {
  return isGrpcServiceError(error);
}

/** The status code of a failed call to the server, whether the SDK wrapped the error or not; undefined for any other error. */
export function grpcCode(error: unknown): number | undefined {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}
