import type { JsonObject, JsonValue } from '../core/domain/json.ts';
import { sourceOf } from './entry-bounds.ts';
import type { ForgottenEntries, MemoryEntry, MemorySource } from './memory-store.ts';

/** The columns of an entry in a database. */
export const ENTRY_COLUMNS = 'key, value, metadata, timestamp, source';

/** A row with these columns. Value, metadata and source are JSON texts, so that a database keeps them as they are. */
export interface EntryRow {
  key: string;
  value: string;
  metadata: string;
  timestamp: number;
  source: string | null;
}

/** Returns the row of an entry. */
export function rowOf({ key, value, metadata, timestamp, source }: MemoryEntry): EntryRow {
  return {
    key,
    value: JSON.stringify(value),
    metadata: JSON.stringify(metadata),
    timestamp,
    source: source === undefined ? null : sourceText(source),
  };
}

/** Returns a source as the rows have it: the same text for the same source. */
export function sourceText(source: MemorySource): string {
  return JSON.stringify(sourceOf(source));
}

/** Returns the columns and values that the rows of forgotten entries have beside their namespace. */
export function forgottenRows({ key, source, timestamp }: ForgottenEntries): ['key' | 'source' | 'timestamp', string | number][] {
  return [
    ...(key === undefined ? [] : [['key', key] as ['key', string]]),
    ...(source === undefined ? [] : [['source', sourceText(source)] as ['source', string]]),
    ...(timestamp === undefined ? [] : [['timestamp', timestamp] as ['timestamp', number]]),
  ];
}

/** Returns the entry of a row. */
export function entryOf({ key, value, metadata, timestamp, source }: EntryRow): MemoryEntry {
  return {
    key,
    value: JSON.parse(value) as JsonValue,
    metadata: JSON.parse(metadata) as JsonObject,
    timestamp,
    ...(source === null ? {} : { source: JSON.parse(source) as MemorySource }),
  };
}
