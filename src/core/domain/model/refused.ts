import { activityDetails } from '../errors/worker-wait.ts';
import { isJsonObject, type JsonObject } from '../json/json.ts';

/**
 * The details of a heartbeat or a failure that report how often a provider has refused a model call. The next attempt reads them from the
 * last heartbeat, and a reader of the status from the last failure.
 */
export interface RefusedDetails extends JsonObject {
  refused: {
    /** The refusals so far, which do not count as attempts. */
    count: number;
    /** Milliseconds that the call waited for a worker before its first attempt. */
    queuedMs: number;
    /** The time at which the call is given up, ISO 8601. */
    givesUpAt?: string;
  };
}

/** A longer wait for a worker cannot be: the activity would have timed out. */
const LONGEST_QUEUE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Returns the time of a wait for a worker; 0 for one that cannot be. */
export function believedQueueMs(ms: unknown): number {
  return typeof ms === 'number' && ms > 0 && ms <= LONGEST_QUEUE_MS ? Math.round(ms) : 0;
}

/** Reads the refusals from the details of a heartbeat or a failure. Nothing in the details is trusted. */
export function refusedIn(details: unknown): RefusedDetails['refused'] | undefined {
  const known = activityDetails(details);
  const refused: unknown = isJsonObject(known) ? known['refused'] : undefined;
  if (!isJsonObject(refused)) return undefined;
  const { count, queuedMs, givesUpAt } = refused;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return undefined;
  return { count, queuedMs: believedQueueMs(queuedMs), ...(typeof givesUpAt === 'string' ? { givesUpAt } : {}) };
}
