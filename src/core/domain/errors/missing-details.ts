import type { JsonValue } from '../json/json.ts';
import { DEFAULT_MISSING_TIMEOUT_MS, type MissingThing } from './missing.ts';

/** How what a worker lacks travels: in the details of the failure of an activity. The name is nobody else's. */
const KEY = 'longhaul:missing';

/** What such a failure says. */
export interface MissingDetails extends MissingThing {
  /** The identity of the worker. */
  worker?: string;
  /** Milliseconds for which another worker is waited for, by the option of this one. */
  forMs?: number;
  /** The attempt that the worker could not make. 1-based, not counting others of that kind. */
  attempt?: number;
  /** When the waiting began, and until when it goes on: of an activity that waits already. ISO 8601. */
  since?: string;
  until?: string;
  /** Other workers have been waited for, and the time is up. */
  gaveUp?: true;
  /** What the attempts before have told by their heartbeats. */
  details?: JsonValue;
}

/** The details of a failure. */
export function missingDetails(missing: MissingDetails): Record<typeof KEY, MissingDetails> {
  return { [KEY]: missing };
}

/** What a failure says that a worker lacks; undefined where it says nothing of the kind. Failures of other releases may say it in part. */
export function missingIn(details: unknown): (MissingDetails & Required<Pick<MissingDetails, 'forMs' | 'attempt'>>) | undefined {
  const said: unknown = typeof details === 'object' && details !== null ? (details as Partial<Record<string, unknown>>)[KEY] : undefined;
  if (typeof said !== 'object' || said === null) return undefined;
  const { kind, name, known, forMs, attempt } = said as Partial<MissingDetails>;
  if (typeof kind !== 'string' || typeof name !== 'string') return undefined;
  return {
    ...(said as MissingDetails),
    known: Array.isArray(known) ? known.filter((one) => typeof one === 'string') : [],
    forMs: typeof forMs === 'number' ? forMs : DEFAULT_MISSING_TIMEOUT_MS,
    attempt: typeof attempt === 'number' ? attempt : 1,
  };
}
