import type { JsonObject, JsonValue } from '../core/domain/json.ts';

/** The origin of an entry: the run that stored it, and the offset of the event whose call did. */
export interface MemorySource {
  runId: string;
  offset?: number;
}

/** A value in a memory. */
export interface MemoryEntry {
  /** Unique in its namespace. */
  key: string;
  value: JsonValue;
  metadata: JsonObject;
  /** Seconds since the epoch at which it was stored. */
  timestamp: number;
  source?: MemorySource;
}

/** An entry that fits a query. */
export interface FoundEntry extends MemoryEntry {
  /** 1 if the query is the key, 0.7 if the key contains it, 0.4 if the value does; case does not matter. Lower if only words or the meaning fit. */
  score: number;
}

/** A value to store. */
export interface NewEntry {
  namespace: string;
  key: string;
  value: JsonValue;
  metadata?: JsonObject;
  source?: MemorySource;
  /** The embedding of the value, if the worker has `embed`. One without a length, of zeros alone, counts as none. */
  vector?: readonly number[];
}

/** A query. */
export interface RecallQuery {
  /** Only entries of this namespace: no query searches those of several owners. */
  namespace: string;
  text: string;
  /** The most entries to return. Default 5. */
  topK?: number;
  /** The embedding of the text, if the worker has `embed`. One without a length, of zeros alone, counts as none. */
  vector?: readonly number[];
}

/** The entries of a namespace to remove: all of them, or those that have each part that is given. */
export interface ForgottenEntries {
  namespace: string;
  key?: string;
  /** The source of the entry, exactly: an offset that is absent here is absent there. */
  source?: MemorySource;
  /** The time at which the entry was stored, as `remember` returned it. */
  timestamp?: number;
}

/** A page of entries, in the order of their keys. */
export interface MemoryPage {
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
