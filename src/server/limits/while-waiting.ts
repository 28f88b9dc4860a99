import type { Caller } from '../auth/caller.ts';
import { type CallerLimits, takePlace } from './caller-limits.ts';

/** The request that waits. */
export interface WaitingRequest {
  caller: Caller;
  settings: { limits: CallerLimits | undefined };
}

/**
 * Does the work of a request that waits, which is open like a stream and takes a place among those of its caller. Throws
 * `too_many_requests` before the work begins if the caller has as many as it may.
 */
export async function whileWaiting<Value>({ caller, settings: { limits } }: WaitingRequest, work: () => Promise<Value>): Promise<Value> {
  const giveBack = takePlace(limits, caller);
  try {
    return await work();
  } finally {
    giveBack();
  }
}
