import type { ErrorCode } from './errors.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { withoutStreamedOutput } from './stream.ts';
import { nearestName } from './text.ts';

/** The kinds of definitions that a run needs and a worker may lack, in the words of the messages. */
export type MissingKind = 'agent' | 'program' | 'provider' | 'tool' | 'MCP server' | '"verify" of tool' | 'activity' | (string & {});

/** A definition that one worker lacks. Another worker of the task queue may have it. */
export interface MissingThing {
  /** The kind of definition that is missing. */
  kind: MissingKind;
  /** Its name. */
  name: string;
  /** Names of that kind that the worker has, possibly not all. */
  known: string[];
}

/** A definition that no worker which took the run's task had so far, so that the run waits for another worker. */
export interface Missing extends MissingThing {
  /** The code with which the run ends if no worker has it in time. */
  code: ErrorCode;
  /** The identity in Temporal (`pid@host` by default) of the last worker that lacked it. Absent if unknown. */
  worker?: string;
  /** The time at which the first worker lacked it. ISO 8601. */
  since: string;
  /** The end of the wait for another worker. ISO 8601. */
  until: string;
}

/** The default time for which a run waits for a worker that has what another one lacks. Milliseconds. */
export const DEFAULT_MISSING_TIMEOUT_MS = 600_000;

/** The largest number of known names in a failure, which is stored with the run. */
const KNOWN_NAMES = 30;

/** Returns the names that a failure lists, beginning with the one most similar to `name`. */
export function listedNames(name: string, known: readonly string[]): string[] {
  const nearest = nearestName(name, known);
  return [...new Set([...(nearest === undefined ? [] : [nearest]), ...known])].slice(0, KNOWN_NAMES);
}

/** Names a missing definition: `agent "clerk"`. */
export function nameOfMissing({ kind, name }: Pick<MissingThing, 'kind' | 'name'>): string {
  return `${kind} "${name}"`;
}

/** Lists what the worker has of that kind: `It has: "clerk", "writer". Did you mean "clerk"?`. Empty for kinds without such a list. */
export function knownText({ kind, name, known }: MissingThing): string {
  // The worker's own functions, such as "authorize", have no list.
  if (kind === 'function') return '';
  if (kind === '"verify" of tool' || kind === 'activity') return '';
  const nearest = nearestName(name, known);
  const names = known.map((one) => `"${one}"`).join(', ') || 'none';
  return `It has: ${names}.${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`;
}

/** Describes, for a person, what is missing, the worker that lacked it last, and the time for which the run waits for another one. */
export function missingText(missing: Missing): string {
  const { worker, since, until } = missing;
  const where = worker === undefined ? 'the worker that took the task' : `the last one was "${worker}"`;
  const known = knownText(missing);
  return `No worker has had ${nameOfMissing(missing)} so far (since ${since}; ${where}).${known === '' ? '' : ` ${known}`} The run waits for another worker until ${until}.`;
}

/**
 * The key, in the details of an activity's failure, of the definition that the worker lacks. The prefix keeps it apart from other
 * details.
 */
const MISSING_KEY = 'longhaul:missing';

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
export function missingDetails(missing: MissingDetails): Record<typeof MISSING_KEY, MissingDetails> {
  return { [MISSING_KEY]: missing };
}

/** Reads from the details of a failure what the worker lacks; undefined if they do not say. Fields that are omitted have their defaults. */
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
