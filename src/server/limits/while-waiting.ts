import type { Caller } from '../auth/caller.ts';
import { requireAdmission } from './admission.ts';
import type { CallerLimits } from './caller-limits.ts';

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
  const place = limits?.stream(caller);
  if (place === undefined) return work();
  requireAdmission(place);
  try {
    return await work();
  } finally {
    if (place.allowed) place.close();
  }
}
