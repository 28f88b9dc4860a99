import type { JsonValue } from '../json/json.ts';
import { DEFAULT_MISSING_TIMEOUT_MS, type MissingThing } from './missing.ts';

/**
 * The key, in the details of an activity's failure, of the definition that the worker lacks. The prefix keeps it apart from other
 * details.
 */
const KEY = 'longhaul:missing';

/** The content of such details. */
export interface MissingDetails extends MissingThing {
  /** The identity of the worker. */
  worker?: string;
  /** Milliseconds for which the run waits for another worker, as the option of this worker says. */
  forMs?: number;
  /** The attempt that the worker could not make. 1-based, not counting earlier ones that workers could not make. */
  attempt?: number;
  /** Beginning and end of the wait, for an activity that waits already. ISO 8601. */
  since?: string;
  until?: string;
  /** The wait for other workers has ended without one. */
  gaveUp?: true;
  /** The details of the last heartbeat of earlier attempts. */
  details?: JsonValue;
}

/** Makes the details of a failure. */
export function missingDetails(missing: MissingDetails): Record<typeof KEY, MissingDetails> {
  return { [KEY]: missing };
}

/** Reads from the details of a failure what the worker lacks; undefined if they do not say. Fields that are omitted have their defaults. */
export function missingIn(details: unknown): (MissingDetails & Required<Pick<MissingDetails, 'forMs' | 'attempt'>>) | undefined {
  const missing: unknown = typeof details === 'object' && details !== null ? (details as Partial<Record<string, unknown>>)[KEY] : undefined;
  if (typeof missing !== 'object' || missing === null) return undefined;
  const { kind, name, known, forMs, attempt } = missing as Partial<MissingDetails>;
  if (typeof kind !== 'string' || typeof name !== 'string') return undefined;
  return {
    ...(missing as MissingDetails),
    known: Array.isArray(known) ? known.filter((one) => typeof one === 'string') : [],
    forMs: typeof forMs === 'number' ? forMs : DEFAULT_MISSING_TIMEOUT_MS,
    attempt: typeof attempt === 'number' ? attempt : 1,
  };
}
