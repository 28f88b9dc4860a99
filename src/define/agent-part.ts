import type { AgentSnapshot, ReplyFormat } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { OptionReference, OptionTable } from './option-checks.ts';
import type { AnyTool } from './tool-definition.ts';

/** Other options of an agent, which its parts check for conflicts. */
export interface AgentOptionsAround {
  tools?: readonly AnyTool[];
  replyFormat?: ReplyFormat;
}

/** The optional facilities of a worker that agents may need. */
export interface WorkerMeans {
  readonly memory?: unknown;
}

/**
 * A capability as a part of the definition of agents: its options, and the fields of the agent that they become. Both are interfaces in
 * the capability's file, and `all-parts.ts` combines them.
 */
export interface AgentPart<Options extends object, Fields extends object> {
  /** Its options, as the page of options describes them. */
  readonly options: OptionReference<Options>;
  /** Returns the fields. Throws a UsageError that names the agent and the option if an option cannot work. */
  define(owner: string, options: Options & AgentOptionsAround): Fields;
  /**
   * Returns what is pinned for a run that begins at this time, as far as it follows from the definition alone. A `WorkerPart` pins what
   * depends on the worker or the start.
   */
  pin?(fields: Fields, now: number): Partial<AgentSnapshot>;
  /** Returns the names of the tools that it gives the agent. Absent: none. */
  toolNames?(fields: Fields): readonly string[];
  /** Throws a UsageError if the fields do not fit the tools of the agent. Not called for an agent with MCP servers, whose tools are not known yet. */
  checkTools?(owner: string, fields: Fields, tools: readonly string[]): void;
  /** Returns the models that it calls: a worker needs their providers. Absent: none. */
  models?(fields: Fields): readonly string[];
  /** Throws a UsageError if a worker with these means could not run the agent. */
  requireMeans?(owner: string, fields: Fields, worker: WorkerMeans): void;
  /** Throws a UsageError if an agent with these fields conflicts with what the worker gives to all its agents. */
  checkShared?(shared: Fields, agent: string, fields: Fields): void;
}

/** A capability as a part of bundles (`defineCapability`), which bring some of its options to an agent. */
export interface BundledPart<Options extends object, Brought extends object, AgentOptions extends object = Options> {
  /** The names of its options. */
  readonly options: OptionTable<Options>;
  /** Returns what the bundle brings. Throws a UsageError that names the bundle and the option if an option cannot work. */
  define(owner: string, options: Options, name: string): Brought;
  /**
   * Merges what the bundles bring into the options of an agent: first the agent's own, then the bundles' in order. Returns no options if
   * they bring nothing. Throws a UsageError that names both if two of them conflict. The agent's own value is checked later.
   */
  merge(owner: string, own: AgentOptions, bundles: readonly (Brought & NamedBundle)[]): Partial<AgentOptions>;
}

/** A bundle by its name. */
interface NamedBundle {
  readonly name: string;
}

/** A value that the agent or a bundle brings, and its origin, for errors. */
export interface Contribution<Value> {
  from: string;
  value: Value;
}

/** Returns what the agent and its bundles bring, in order. Parts that bring nothing are left out. */
export function contributions<Value, Bundle extends NamedBundle>(
  owner: string,
  own: Value | undefined,
  bundles: readonly Bundle[],
  of: (bundle: Bundle) => Value | undefined,
): Contribution<Value>[] {
  return [{ from: owner, value: own }, ...bundles.map((one) => ({ from: `capability "${one.name}"`, value: of(one) }))].filter(
    (one): one is Contribution<Value> => one.value !== undefined,
  );
}

/** A list that bundles add to. */
interface BundledList<Entry, Bundle> {
  of: (bundle: Bundle) => readonly Entry[];
  /** Set if names of entries must be unique across the agent and its bundles. */
  named?: NamedEntries<Entry>;
}

interface NamedEntries<Entry> {
  /** Such as `a tool`. */
  what: string;
  nameOf: (entry: Entry) => string;
}

/**
 * Returns the entries of the agent and of its bundles as one list; undefined if there are none. Throws a UsageError if two of them have an
 * entry of the same name. A value that is not a list is left to the check of the agent.
 */
export function mergedList<Entry, Bundle extends NamedBundle>(
  owner: string,
  own: readonly Entry[] | undefined,
  bundles: readonly Bundle[],
  { of, named }: BundledList<Entry, Bundle>,
): readonly Entry[] | undefined {
  if (own !== undefined && !Array.isArray(own)) return undefined;
  const lists = contributions<readonly Entry[], Bundle>(owner, own, bundles, of);
  if (named !== undefined) requireOwnNames(owner, lists, named);
  const all = lists.flatMap(({ value }) => value);
  return all.length === 0 ? undefined : all;
}

/** Throws a UsageError if two parts have an entry with the same name. Duplicates within a part are found by the check of that part. */
function requireOwnNames<Entry>(
  owner: string,
  lists: readonly Contribution<readonly Entry[]>[],
  { what, nameOf }: NamedEntries<Entry>,
): void {
  const holders = new Map<string, string>();
  for (const { from, value } of lists) {
    for (const entry of value) {
      if (typeof entry !== 'object' || entry === null) continue;
      const name = nameOf(entry);
      const holder = holders.get(name) ?? from;
      if (holder !== from) {
        throw new UsageError(`${both(owner, holder, from)} both have ${what} named ${name}: rename one, or leave one out`);
      }
      holders.set(name, from);
    }
  }
}

/** Returns a text that names two parts of an agent, for an error that begins with the agent. */
export function both(owner: string, one: string, other: string): string {
  return one === owner ? `${owner} and ${other}` : `${owner}: ${one} and ${other}`;
}
