import { type JsonValue, isJsonObject } from '../json/json.ts';

/**
 * What an activity is told that is scheduled again because its worker lacked something: it is tried on one worker after
 * the other, and only an attempt that a worker could make counts.
 */
export interface WorkerWait {
  /** Milliseconds from its scheduling for which workers that lack something are followed by others. */
  forMs: number;
  /** Attempts that may be made in all, those on workers that lack something not counted. */
  attempts: number;
  /** The last heartbeat of the attempts before it was scheduled again. */
  details?: JsonValue;
}

/**
 * The type of the failure of such an activity whose attempts have all ended without an answer. No code: some of them may
 * have acted.
 */
export const ATTEMPTS_USED_UP = 'AttemptsUsedUp';

/** The key of the details that say how many attempts were on workers that lacked something. */
const LACKED = 'longhaul:lacked';

/** The details of a heartbeat with the number of attempts that workers could not make. Those without any stay as they are. */
export function withLacked(lacked: number, details: unknown): unknown {
  return lacked === 0 ? details : { [LACKED]: lacked, ...(details === undefined || details === null ? {} : { details }) };
}

/** How many attempts workers could not make, by the details of the last heartbeat. */
export function lackedIn(details: unknown): number {
  const lacked = isJsonObject(details) ? details[LACKED] : undefined;
  return typeof lacked === 'number' ? lacked : 0;
}

/** The details of a heartbeat as whoever beat meant them. */
export function meantDetails(details: unknown): unknown {
  return lackedIn(details) > 0 && isJsonObject(details) ? details['details'] : details;
}
