import { cutText, jsonBytes } from '../core/domain/byte-budgets.ts';
import type { JsonObject, JsonValue } from '../core/domain/json.ts';
import { RECALL_FRAME } from '../core/domain/memory.ts';
import type { Principal } from '../core/domain/run.ts';
import { utf8Length } from '../core/domain/text.ts';
import { isoTime } from '../core/domain/time.ts';

/** The origin of an entry: the run that stored it, and the offset of the event whose call did. */
export interface MemorySource {
  /** The run that wrote the entry. */
  runId: string;
  /** The offset of the event with the call that did. */
  offset?: number;
}

/** A value in a memory. */
export interface MemoryEntry {
  /** Unique in its namespace. */
  key: string;
  /** What was remembered. */
  value: JsonValue;
  /** Facts about the entry, by their names. */
  metadata: JsonObject;
  /** Seconds since the epoch at which it was stored. */
  timestamp: number;
  /** The run that wrote it. */
  source?: MemorySource;
}

/** An entry that fits a query. */
export interface FoundEntry extends MemoryEntry {
  /** 1 if the query is the key, 0.7 if the key contains it, 0.4 if the value does; case does not matter. Lower if only words or the meaning fit. */
  score: number;
}

/** A value to store. */
export interface NewEntry {
  /** Whose memory it is: see `memoryNamespace`. */
  namespace: string;
  /** The key: a later entry with the same key replaces it. */
  key: string;
  /** What is remembered. */
  value: JsonValue;
  /** Facts about the entry, by which `recall` filters. */
  metadata?: JsonObject;
  /** The run that writes it. */
  source?: MemorySource;
  /** The embedding of the value, if the worker has `embed`. One without a length, of zeros alone, counts as none. */
  vector?: readonly number[];
}

/** A query. */
export interface RecallQuery {
  /** Only entries of this namespace: no query searches those of several owners. */
  namespace: string;
  /** What is looked for. */
  text: string;
  /** The most entries to return. Default 5. */
  topK?: number;
  /** The embedding of the text, if the worker has `embed`. One without a length, of zeros alone, counts as none. */
  vector?: readonly number[];
}

/** The entries of a namespace to remove: all of them, or those that have each part that is given. */
export interface ForgottenEntries {
  /** Whose memory it is. */
  namespace: string;
  /** The key of the entry. Absent: all entries of the namespace. */
  key?: string;
  /** The source of the entry, exactly: an offset that is absent here is absent there. */
  source?: MemorySource;
  /** The time at which the entry was stored, as `remember` returned it. */
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
 * A memory: values by key that outlast the run which stored them. Any store can implement it. Each namespace has its own keys: a value
 * of one never replaces or shows up in another.
 */
export interface MemoryStore {
  /**
   * Stores a value durably before it resolves, in place of the value with the same key and namespace. Rejects an empty key. It may be
   * called again with the same values after a failure or a time-out, which must not make a second entry.
   */
  remember(entry: NewEntry): Promise<MemoryEntry>;
  /** Returns the entries that fit a query: those with a higher score first, of equal ones the newer first. */
  recall(query: RecallQuery): Promise<FoundEntry[]>;
  /**
   * Removes entries of a namespace, and returns their number. Rejects if there is no namespace: a variable that is undefined must not
   * stand for the entries of all owners.
   */
  forget(what: ForgottenEntries): Promise<number>;
  /**
   * Removes all entries of all namespaces that begin with a text, letter for letter, and returns their number: `memoryOwner` makes that of
   * a user. Rejects an empty text, which would be all of them.
   */
  forgetNamespaces(what: { prefix: string }): Promise<number>;
  /** Returns entries of a namespace, a page at a time. */
  list(what: { namespace: string; cursor?: string; limit?: number }): Promise<MemoryPage>;
}

/** The owner of a memory, and the part of it that is meant. */
export interface MemoryOwner {
  /** The user and the tenant whose memory it is. */
  principal?: Principal | undefined;
  /** The name of the agent, or the name that several agents share. */
  agent?: string | undefined;
  /** The scope of steps of programs. */
  scope?: string | undefined;
}

/**
 * Returns the text that all namespaces of a user begin with, those of all agents and programs, and no namespace of another owner: for
 * `forgetNamespaces`.
 */
export function memoryOwner({ tenant, user }: Pick<Principal, 'tenant' | 'user'>): string {
  return `${JSON.stringify([tenant ?? null, user ?? null]).slice(0, -1)},`;
}

/**
 * Returns the namespace of a memory: another one for each tenant, user, agent and scope, with any characters in their names. The claims of
 * the principal are no part of it, because they change. Owners without a principal share one namespace for each agent.
 */
export function memoryNamespace({ principal = {}, agent, scope }: MemoryOwner): string {
  return JSON.stringify([principal.tenant ?? null, principal.user ?? null, agent ?? null, scope ?? null]);
}

/** An entry as the model reads it. */
export type RecalledEntry = {
  key: string;
  value: JsonValue;
  /** The time at which it was stored, in ISO 8601. */
  when: string;
};

/** Returns an entry as the model reads it. */
export function recalledEntry({ key, value, timestamp }: Pick<MemoryEntry, 'key' | 'value' | 'timestamp'>): RecalledEntry {
  return { key, value, when: isoTime(Math.round(timestamp * 1_000)) };
}

/** Bytes below which the rest of a text is too short to show the beginning of an entry. */
const LEAST_BYTES = 200;

/**
 * Returns the text that gives entries to a model, the best first, and their number: one line of JSON each below a line that says what
 * they are, so that no value can end its line or pass for another. As many as fit `maxBytes` of UTF-8; the value of the first that does
 * not is cut, if its beginning is worth it. An empty text without entries.
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

/** Returns an entry whose value is cut to fit, as one line; undefined if too little of the value would be left. */
function beginningOf(entry: RecalledEntry, maxBytes: number): string | undefined {
  const text = typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value);
  const room = maxBytes - jsonBytes({ ...entry, value: '' }) + '""'.length;
  return room < LEAST_BYTES ? undefined : JSON.stringify({ ...entry, value: cutText(text, room) });
}
