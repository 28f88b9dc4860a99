import type { ErrorCode } from './error.ts';
import { nearestName } from './nearest-name.ts';

/** The kinds of definitions that a run needs and a worker may lack, in the words of the messages. */
export type MissingKind = 'agent' | 'program' | 'provider' | 'tool' | 'guardrail' | 'MCP server' | '"verify" of tool' | 'hook' | 'activity';

/** A definition that one worker lacks. Another worker of the task queue may have it. */
export interface MissingThing {
  kind: MissingKind;
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
  // The worker's own hooks, such as "authorize", have no list.
  if (kind === 'hook' && known.length === 0) return '';
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
