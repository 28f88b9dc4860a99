import type { JsonObject, JsonValue } from '../../core/domain/json/json.ts';
import type { MemoryEntry, MemorySource } from '../memory-store.ts';
import type { Database } from './database.ts';

/** The columns of an entry that is returned. */
export const ENTRY_COLUMNS = 'key, value, metadata, timestamp, source';

/** A row with these columns. */
export interface EntryRow {
  key: string;
  value: string;
  metadata: string;
  timestamp: number;
  source: string | null;
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

/** Returns the id of a namespace; undefined for one without entries. */
export function namespaceId(database: Database, name: string): number | undefined {
  return database.all<{ id: number }>('SELECT id FROM namespaces WHERE name = ?', name)[0]?.id;
}
