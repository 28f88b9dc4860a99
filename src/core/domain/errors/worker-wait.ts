import { type JsonValue, isJsonObject } from '../json/json.ts';
import { withoutStreamedOutput } from '../stream/streamed-output.ts';

/**
 * Instructions for an activity that is scheduled again because its worker lacked a definition: one worker after the other tries
 * it, and only an attempt that a worker could make counts.
 */
export interface WorkerWait {
  /** Milliseconds from its scheduling after which no further worker tries it. */
  forMs: number;
  /** The number of attempts that may be made, without those that workers could not make. */
  attempts: number;
  /** The details of the last heartbeat before it was scheduled again. */
  details?: JsonValue;
}

/**
 * The type of the failure of such an activity after all its attempts ended without an answer. It is no error code, because one of
 * them may have taken effect.
 */
export const ATTEMPTS_USED_UP = 'AttemptsUsedUp';

/** The key, in the details of a heartbeat, of the number of attempts that workers could not make. */
const UNCOUNTED = 'longhaul:lacked';

/** Adds the number of attempts that workers could not make to the details of a heartbeat. With 0, returns the details unchanged. */
export function withUncountedAttempts(uncounted: number, details: unknown): unknown {
  return uncounted === 0 ? details : { [UNCOUNTED]: uncounted, ...(details === undefined || details === null ? {} : { details }) };
}

/** Reads the number of attempts that workers could not make from the details of the last heartbeat. */
export function uncountedAttemptsIn(details: unknown): number {
  const uncounted = isJsonObject(details) ? details[UNCOUNTED] : undefined;
  return typeof uncounted === 'number' ? uncounted : 0;
}

/** Returns the details of a heartbeat without the added number of attempts. */
export function withoutUncountedAttempts(details: unknown): unknown {
  return uncountedAttemptsIn(details) > 0 && isJsonObject(details) ? details['details'] : details;
}

/** Returns the details that the activity passed to its heartbeat, without the added number of attempts and the output of the attempt. */
export function activityDetails(details: unknown): unknown {
  return withoutStreamedOutput(withoutUncountedAttempts(details));
}
