import type { ErrorCode } from './errors.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { withoutStreamedOutput } from './stream.ts';
import { nearestName } from './text.ts';

/** The kinds of definitions that a run needs and a worker may lack, as named in messages. */
export type MissingKind = 'agent' | 'program' | 'provider' | 'tool' | 'MCP server' | '"verify" of tool' | 'activity' | (string & {});

/** A definition that one worker lacks. Another worker of the task queue may have it. */
export interface MissingThing {
  /** The kind of the missing definition. */
  kind: MissingKind;
  /** Its name. */
  name: string;
  /** Names of this kind that the worker has, possibly not all. */
  known: string[];
}

/** A definition that every worker which took the run's task has lacked so far, so the run waits for another worker. */
export interface Missing extends MissingThing {
  /** The error code of the run if no worker has it in time. */
  code: ErrorCode;
  /** The Temporal identity (`pid@host` by default) of the last worker that lacked it. Absent if unknown. */
  worker?: string;
  /** The time when the first worker lacked it. ISO 8601. */
  since: string;
  /** The end of the wait for another worker. ISO 8601. */
  until: string;
}

/** The default time for which a run waits for a worker with the missing definition, in milliseconds. */
export const DEFAULT_MISSING_TIMEOUT_MS = 600_000;

/** The maximum number of known names in a failure, which is stored with the run. */
const KNOWN_NAMES = 30;

/** Returns the names listed in a failure, beginning with the one most similar to `name`. */
export function listedNames(name: string, known: readonly string[]): string[] {
  const nearest = nearestName(name, known);
  return [...new Set([...(nearest === undefined ? [] : [nearest]), ...known])].slice(0, KNOWN_NAMES);
}

/** Names a missing definition: `agent "clerk"`. */
export function nameOfMissing({ kind, name }: Pick<MissingThing, 'kind' | 'name'>): string {
  return `${kind} "${name}"`;
}

/** Lists the worker's definitions of that kind: `It has: "clerk", "writer". Did you mean "clerk"?`. Empty for kinds without such a list. */
export function knownText({ kind, name, known }: MissingThing): string {
  // The worker's own functions, such as "authorize", have no list.
  if (kind === 'function') return '';
  if (kind === '"verify" of tool' || kind === 'activity') return '';
  const nearest = nearestName(name, known);
  const names = known.map((one) => `"${one}"`).join(', ') || 'none';
  return `It has: ${names}.${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`;
}

/** Describes for people what is missing, the last worker that lacked it, and how long the run waits for another worker. */
export function missingText(missing: Missing): string {
  const { worker, since, until } = missing;
  const where = worker === undefined ? 'the worker that took the task' : `the last one was "${worker}"`;
  const known = knownText(missing);
  return `No worker has had ${nameOfMissing(missing)} so far (since ${since}; ${where}).${known === '' ? '' : ` ${known}`} The run waits for another worker until ${until}.`;
}

/** The key of the missing definition in the details of an activity's failure. The prefix distinguishes it from other details. */
const MISSING_KEY = 'longhaul:missing';

/** The content of such details. */
export interface MissingDetails extends MissingThing {
  /** The identity of the worker. */
  worker?: string;
  /** Milliseconds for which the run waits for another worker, according to this worker's option. */
  forMs?: number;
  /** The attempt that the worker could not make. 1-based, not counting earlier ones that workers could not make. */
  attempt?: number;
  /** Start and end of the wait, for an activity that is already waiting. ISO 8601. */
  since?: string;
  until?: string;
  /** The wait for other workers has ended without success. */
  gaveUp?: true;
  /** The details of the last heartbeat of earlier attempts. */
  details?: JsonValue;
}

/** Makes the details of a failure. */
export function missingDetails(missing: MissingDetails): Record<typeof MISSING_KEY, MissingDetails> {
  return { [MISSING_KEY]: missing };
}

/** Reads the missing definition from the details of a failure, or returns undefined. Omitted fields get their defaults. */
export function missingIn(details: unknown): (MissingDetails & Required<Pick<MissingDetails, 'forMs' | 'attempt'>>) | undefined {
  const missing: unknown =
    typeof details === 'object' && details !== null ? (details as Partial<Record<string, unknown>>)[MISSING_KEY] : undefined;
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

/**
 * Instructions for an activity that is scheduled again because its worker lacked a definition: the workers try it in turn, and only
 * attempts that a worker could make count.
 */
export interface WorkerWait {
  /** Milliseconds after scheduling when no further worker tries it. */
  forMs: number;
  /** The maximum number of attempts, not counting those that workers could not make. */
  attempts: number;
  /** The details of the last heartbeat before it was scheduled again. */
  details?: JsonValue;
}

/**
 * The failure type of such an activity when all its attempts ended without an answer. It is not an error code, because an attempt may have
 * taken effect.
 */
export const ATTEMPTS_USED_UP = 'AttemptsUsedUp';

/** The key of the number of attempts that workers could not make, in the details of a heartbeat. */
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
