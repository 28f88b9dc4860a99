import { cutText, jsonBytes } from '../core/domain/byte-budgets.ts';
import { defined, type JsonObject, type JsonValue, parsedJson } from '../core/domain/json.ts';
import { RECALL_FRAME } from '../core/domain/memory.ts';
import type { Principal } from '../core/domain/run.ts';
import { utf8Length } from '../core/domain/text.ts';
import { isoTime } from '../core/domain/time.ts';

/** The origin of an entry: the run that stored it, and the offset of the event whose call did. */
export interface MemorySource {
  /** The run that wrote the entry. */
  runId: string;
  /** The offset of the event with the call that wrote it. */
  offset?: number;
}

/** A value in a memory. */
export interface MemoryEntry {
  /** Unique in its namespace. */
  key: string;
  /** What was remembered. */
  value: JsonValue;
  /** Facts about the entry, by name. */
  metadata: JsonObject;
  /** When it was stored, in seconds since the epoch. */
  timestamp: number;
  /** The run that wrote it. */
  source?: MemorySource;
}

/** An entry that fits a query. */
export interface FoundEntry extends MemoryEntry {
  /** 1 if the query is the key, 0.7 if the key contains it, 0.4 if the value does, ignoring case. Lower if only words or meaning match. */
  score: number;
}

/** A value to store. */
export interface NewEntry {
  /** The owner of the memory as a namespace: see `memoryNamespace`. */
  namespace: string;
  /** The key: a later entry with the same key replaces it. */
  key: string;
  /** What is remembered. */
  value: JsonValue;
  /** Facts about the entry. */
  metadata?: JsonObject;
  /** The run that writes it. */
  source?: MemorySource;
  /** The embedding of the value, if the worker has `embed`. A vector of only zeros counts as absent. */
  vector?: readonly number[];
}

/** A query. */
export interface RecallQuery {
  /** Only entries of this namespace: no query searches the entries of several owners. */
  namespace: string;
  /** The text to look for. */
  text: string;
  /** The most entries to return. Default 5. */
  topK?: number;
  /** The embedding of the text, if the worker has `embed`. A vector of only zeros counts as absent. */
  vector?: readonly number[];
}

/** The entries of a namespace to remove: all of them, or those that match every given part. */
export interface ForgottenEntries {
  /** The owner of the memory as a namespace. */
  namespace: string;
  /** The key of the entry. Absent: all entries of the namespace. */
  key?: string;
  /** The exact source of the entry: without an offset here, only entries without one match. */
  source?: MemorySource;
  /** The timestamp of the entry, as `remember` returned it. */
  timestamp?: number;
}

/** A page of entries, in the order of their keys. */
export interface MemoryPage {
  /** The entries of this page. */
  entries: MemoryEntry[];
  /** The cursor of the next page. Absent on the last one. */
  next?: string;
}

/**
 * A memory: values by key that outlast the run that stored them. Any store can implement it. Each namespace has separate keys: a value
 * of one never replaces a value of another, or appears there.
 */
export interface MemoryStore {
  /**
   * Stores a value durably before it resolves, replacing the value with the same key and namespace. Rejects an empty key. May be
   * called again with the same values after a failure or timeout, which must not make a second entry.
   */
  remember(entry: NewEntry): Promise<MemoryEntry>;
  /** Returns the entries that match a query: higher scores first, and newer ones first among equal scores. */
  recall(query: RecallQuery): Promise<FoundEntry[]>;
  /**
   * Removes entries of a namespace, and returns their number. Rejects if there is no namespace: an undefined variable must not
   * select the entries of all owners.
   */
  forget(what: ForgottenEntries): Promise<number>;
  /**
   * Removes all entries in namespaces that begin with exactly this text, and returns their number: `memoryOwner` returns the prefix of
   * a user. Rejects an empty text, which would match all namespaces.
   */
  forgetNamespaces(what: { prefix: string }): Promise<number>;
  /**
   * Returns the namespaces with entries that begin with exactly this text, sorted: what `forgetNamespaces` would empty. Rejects an empty
   * text.
   */
  listNamespaces(what: { prefix: string }): Promise<readonly string[]>;
  /** Returns a page of the entries of a namespace. */
  list(what: { namespace: string; cursor?: string; limit?: number }): Promise<MemoryPage>;
}

/** The owner and the part of a memory. */
export interface MemoryOwner {
  /** The user and the tenant that own the memory. */
  principal?: Principal | undefined;
  /** The name of the agent, or the name that several agents share. */
  agent?: string | undefined;
  /** The scope of steps of programs. */
  scope?: string | undefined;
}

/**
 * Returns the common prefix of a user's namespaces for all agents and programs, which no other owner's namespace has: for
 * `forgetNamespaces`.
 */
export function memoryOwner({ tenant, user }: Pick<Principal, 'tenant' | 'user'>): string {
  return `${JSON.stringify([tenant ?? null, user ?? null]).slice(0, -1)},`;
}

/**
 * Returns the namespace of a memory, unique for each tenant, user, agent and scope, with any characters in their names. The claims of
 * the principal are not part of it, because they change. Owners without a principal share one namespace for each agent.
 */
export function memoryNamespace({ principal = {}, agent, scope }: MemoryOwner): string {
  return JSON.stringify([principal.tenant ?? null, principal.user ?? null, agent ?? null, scope ?? null]);
}

/** Returns the agent or the scope that a namespace names. Empty for the namespace of a store's own, which `memoryNamespace` has not made. */
export function partOfNamespace(namespace: string): { agent?: string; scope?: string } {
  const parts: unknown = parsedJson(namespace);
  if (!Array.isArray(parts)) return {};
  const [agent, scope] = parts.slice(2).map((part: unknown) => (typeof part === 'string' ? part : undefined));
  return defined({ agent, scope });
}

/** An entry as the model reads it. */
export type RecalledEntry = {
  key: string;
  value: JsonValue;
  /** When it was stored, in ISO 8601. */
  when: string;
};

/** Returns an entry as the model reads it. */
export function recalledEntry({ key, value, timestamp }: Pick<MemoryEntry, 'key' | 'value' | 'timestamp'>): RecalledEntry {
  return { key, value, when: isoTime(Math.round(timestamp * 1_000)) };
}

/** The fewest remaining bytes that are worth showing the beginning of an entry. */
const LEAST_BYTES = 200;

/**
 * Returns the text that presents entries to a model, best first, and their number: a heading that says what they are, and a line of JSON
 * for each, so that no value can end its line or imitate another. As many as fit into `maxBytes` of UTF-8; the value of the first that
 * does not fit is cut, if its beginning is long enough. Empty without entries.
 */
export function recallText(entries: readonly RecalledEntry[], maxBytes: number): { text: string; entries: number } {
  const lines = [RECALL_FRAME];
  let left = maxBytes - utf8Length(RECALL_FRAME);
  for (const entry of entries) {
    const whole = JSON.stringify(entry);
    const line = utf8Length(whole) < left ? whole : beginningOf(entry, left - 1);
    if (line === undefined) break;
    lines.push(line);
    left -= utf8Length(line) + 1;
  }
  return lines.length === 1 ? { text: '', entries: 0 } : { text: lines.join('\n'), entries: lines.length - 1 };
}

/** Returns an entry as one line with its value cut to fit; undefined if too little would be left. */
function beginningOf(entry: RecalledEntry, maxBytes: number): string | undefined {
  const text = typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value);
  const room = maxBytes - jsonBytes({ ...entry, value: '' }) + '""'.length;
  return room < LEAST_BYTES ? undefined : JSON.stringify({ ...entry, value: cutText(text, room) });
}
