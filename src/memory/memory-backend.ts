import type { JsonObject, JsonValue } from '../core/domain/json/json.ts';

/** A value in the memory of programs. */
export interface MemoryEntry {
  key: string;
  value: JsonValue;
  /** Notes about the value. Its field `scope` is the scope that the entry belongs to. */
  metadata: JsonObject;
  /** Seconds since the epoch at which it was stored. */
  timestamp: number;
}

/** An entry that fits a query. */
export interface FoundEntry extends MemoryEntry {
  /** 1 if the query is the key, 0.7 if the key contains it, 0.4 if the value does. Case does not matter. */
  score: number;
}

/** The options of a query. */
export interface RetrieveOptions {
  /** The most entries to return. Default 5. */
  topK?: number;
  /** Only entries of this scope. Absent: all entries. */
  scope?: string;
}

/**
 * A memory: values by key, which outlast the run that stored them. Any store can implement it. Each scope has its own keys: a value of
 * one scope never replaces or shows up in another.
 */
export interface MemoryBackend {
  /**
   * Stores a value durably before it resolves, in place of the value with the same key and scope. Rejects an empty key. It may be called
   * again with the same values after a failure or a time-out, which must not make a second entry.
   */
  store(key: string, value: JsonValue, metadata?: JsonObject): Promise<MemoryEntry>;
  /** Returns the entries that fit a query: those with a higher score first, of equal ones the newer first. */
  retrieve(query: string, options?: RetrieveOptions): Promise<FoundEntry[]>;
  /** Removes the entries of a scope; all entries without one. Returns the number of removed entries. */
  clear(scope?: string): Promise<number>;
}
