import type { ErrorCode } from './error.ts';
import { nearestName } from './nearest-name.ts';

/** What a worker may lack of what a run needs, in the words of the messages. */
export type MissingKind = 'agent' | 'provider' | 'tool' | 'MCP server' | '"verify" of tool' | 'hook' | 'activity';

/** Something that a worker lacks: a fact about that worker, since another one of the task queue may have it. */
export interface MissingThing {
  kind: MissingKind;
  name: string;
  /** The names of that kind that the worker has, as far as they are told. */
  known: string[];
}

/** What a run waits for because no worker that has taken its task had it so far. */
export interface Missing extends MissingThing {
  /** The code that the run ends with where no worker comes that has it. */
  code: ErrorCode;
  /** The worker that lacked it last: its identity in Temporal (`pid@host` by default). Absent where it is not told. */
  worker?: string;
  /** When the first worker lacked it. ISO 8601. */
  since: string;
  /** Until when another worker is waited for. ISO 8601. */
  until: string;
}

/** How long a run waits for a worker that has what another one lacks, unless the worker says otherwise. Milliseconds. */
export const DEFAULT_MISSING_TIMEOUT_MS = 600_000;

/** Names that a failure repeats at most: it is to help, and stored with the run. */
const KNOWN_NAMES = 30;

/** As many of the names as a failure repeats, with the one that was probably meant first. */
export function toldNames(name: string, known: readonly string[]): string[] {
  const nearest = nearestName(name, known);
  return [...new Set([...(nearest === undefined ? [] : [nearest]), ...known])].slice(0, KNOWN_NAMES);
}

/** `agent "clerk"`. */
export function nameOfMissing({ kind, name }: Pick<MissingThing, 'kind' | 'name'>): string {
  return `${kind} "${name}"`;
}

/** `It has: "clerk", "writer". Did you mean "clerk"?`, for what the worker has others of; otherwise an empty text. */
export function knownText({ kind, name, known }: MissingThing): string {
  if (kind !== 'agent' && kind !== 'provider' && kind !== 'tool' && kind !== 'MCP server') return '';
  const nearest = nearestName(name, known);
  const names = known.map((one) => `"${one}"`).join(', ') || 'none';
  return `It has: ${names}.${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`;
}

/** Says which worker lacks what since when, what it has, and how long the run waits for another one. */
export function missingText(missing: Missing): string {
  const { worker, since, until } = missing;
  const where = worker === undefined ? 'the worker that took the task' : `the last one was "${worker}"`;
  const known = knownText(missing);
  return `No worker has had ${nameOfMissing(missing)} so far (since ${since}; ${where}).${known === '' ? '' : ` ${known}`} The run waits for another worker until ${until}.`;
}
