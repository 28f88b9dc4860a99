import type { MemoryEntry, MemoryStore } from '../memory-store.ts';
import { foldedText, foldedValue } from '../searched-text.ts';
import { rowOf } from '../stored-row.ts';
import type { Database } from './database.ts';
import { namespaceId } from './namespace-id.ts';
import { NUMBER_BITS } from './tables.ts';

/** Stores an entry in place of the one with the same key and namespace. Belongs in a transaction. */
export function insertEntry(database: Database, namespace: string, entry: MemoryEntry, vector: readonly number[] | undefined): void {
  database.run('INSERT INTO namespaces (name) VALUES (?) ON CONFLICT DO NOTHING', namespace);
  const space = namespaceId(database, namespace) ?? 0;
  remove(database, 'namespace = ? AND key = ?', space, entry.key);
  const number = database.all<{ last: number }>('UPDATE changes SET last = last + 1 RETURNING last')[0]?.last ?? 0;
  const [foldedKey, folded] = [foldedText(entry.key), foldedValue(entry.value)];
  const { key, timestamp, source, metadata, value } = rowOf(entry);
  database.run(
    `INSERT INTO entries (id, folded_key, folded_value, namespace, key, timestamp, source, metadata, value)
     VALUES (${ENTRY_ID}, ?, ?, ?, ?, ?, ?, ?, ?)`,
    space,
    number,
    foldedKey,
    folded,
    space,
    key,
    timestamp,
    source,
    metadata,
    value,
  );
  if (database.isIndexed)
    database.run(`INSERT INTO words (rowid, folded_key, folded_value) VALUES (${ENTRY_ID}, ?, ?)`, space, number, foldedKey, folded);
  if (vector !== undefined)
    database.run(
      `INSERT INTO vectors (id, vector) VALUES (${ENTRY_ID}, ?)`,
      space,
      number,
      new Uint8Array(Float32Array.from(vector).buffer),
    );
}

/** Removes one entry of a namespace, all of its entries, or all entries. Returns their number. Belongs in a transaction. */
export function removeEntries(database: Database, { namespace, key }: Parameters<MemoryStore['forget']>[0]): number {
  if (namespace === undefined) {
    const removed = remove(database, 'true');
    database.run('DELETE FROM namespaces');
    return removed;
  }
  const space = namespaceId(database, namespace);
  if (space === undefined) return 0;
  const removed = key === undefined ? remove(database, 'namespace = ?', space) : remove(database, 'namespace = ? AND key = ?', space, key);
  // The name of a namespace tells whom it belonged to.
  database.run('DELETE FROM namespaces WHERE id = ? AND NOT EXISTS (SELECT 1 FROM entries WHERE namespace = ?)', space, space);
  return removed;
}

/** Removes the entries of all namespaces that begin with a text. Returns their number. Belongs in a transaction. */
export function removeNamespaces(database: Database, prefix: string): number {
  const names = database.all<{ name: string }>('SELECT name FROM namespaces').map(({ name }) => name);
  return names.filter((name) => name.startsWith(prefix)).reduce((sum, namespace) => sum + removeEntries(database, { namespace }), 0);
}

/** The id of an entry, of the id of its namespace and its number. */
const ENTRY_ID = `(? << ${NUMBER_BITS}) + ?`;

function remove(database: Database, which: string, ...values: (string | number)[]): number {
  if (database.isIndexed)
    database.run(
      `INSERT INTO words (words, rowid, folded_key, folded_value) SELECT 'delete', id, folded_key, folded_value FROM entries WHERE ${which}`,
      ...values,
    );
  database.run(`DELETE FROM vectors WHERE id IN (SELECT id FROM entries WHERE ${which})`, ...values);
  return database.run(`DELETE FROM entries WHERE ${which}`, ...values);
}
