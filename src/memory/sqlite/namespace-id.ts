import type { Database } from './database.ts';

/** Returns the id of a namespace; undefined for one without entries. */
export function namespaceId(database: Database, name: string): number | undefined {
  return database.all<{ id: number }>('SELECT id FROM namespaces WHERE name = ?', name)[0]?.id;
}
