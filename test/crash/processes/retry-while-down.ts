import { setTimeout as pause } from 'node:timers/promises';
import { GRPC, grpcCode } from '../../../src/temporal/server-calls.ts';
import { errorMessage, LonghaulError } from '../../../src/core/domain/errors.ts';

const PAUSE_MS = 50;

/** Errors of a server or a connection while the server is down or has just started. */
const PASSING = new Set<number | undefined>([GRPC.cancelled, GRPC.deadlineExceeded, GRPC.unavailable, GRPC.resourceExhausted]);

/** Repeats a request of a client until the deadline while the server may be down. Throws every other error. */
export async function retryWhileDown<Result>(what: string, deadline: number, work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await within(what, deadline, work());
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (Date.now() > deadline) throw new Error(`${what} did not succeed in time: ${errorMessage(error)}`, { cause: error });
      await pause(PAUSE_MS);
    }
  }
}

/** Returns the result, or throws if it takes longer than the deadline. */
export async function within<Result>(what: string, deadline: number, work: Promise<Result>): Promise<Result> {
  const timeUp = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeUp.reject(new Error(`${what} took too long`)), Math.max(0, deadline - Date.now()));
  try {
    return await Promise.race([work, timeUp.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof LonghaulError) return error.code === 'wait_timeout' || error.code === 'server_unreachable';
  return PASSING.has(grpcCode(error));
}
