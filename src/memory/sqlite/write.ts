import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { CheckedEntry } from '../entry-bounds.ts';
import type { ForgottenEntries } from '../memory-store.ts';
import { foldedText, foldedValue } from '../search/searched-text.ts';
import { forgottenRows, rowOf } from '../stored-row.ts';
import type { Database } from './database.ts';
import { namespaceId } from './namespace-id.ts';
import { NUMBER_BITS } from './tables.ts';

/** Stores an entry in place of the one with the same key and namespace. Belongs in a transaction. */
export function insertEntry(database: Database, { namespace, entry, vector }: CheckedEntry): void {
  const space = namespaceId(database, namespace) ?? returned(database, 'INSERT INTO namespaces (name) VALUES (?) RETURNING id', namespace);
  remove(database, 'namespace = ? AND key = ?', space, entry.key);
  const number = returned(database, 'UPDATE changes SET last = last + 1 RETURNING last AS id');
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

/** Removes entries of a namespace. Returns their number. Belongs in a transaction. */
export function removeEntries(database: Database, what: ForgottenEntries): number {
  const space = namespaceId(database, what.namespace);
  if (space === undefined) return 0;
  const parts = forgottenRows(what);
  const which = ['namespace = ?', ...parts.map(([column]) => `${column} = ?`)].join(' AND ');
  const removed = remove(database, which, space, ...parts.map(([, value]) => value));
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

/** Returns the id that a statement returns. */
function returned(database: Database, sql: string, ...values: string[]): number {
  const [row] = database.all<{ id: number }>(sql, ...values);
  if (row !== undefined) return row.id;
  throw new LonghaulError('memory_unavailable', 'the file of the memory is damaged: its counter of changes is missing');
}

function remove(database: Database, which: string, ...values: (string | number)[]): number {
  if (database.isIndexed)
    database.run(
      `INSERT INTO words (words, rowid, folded_key, folded_value) SELECT 'delete', id, folded_key, folded_value FROM entries WHERE ${which}`,
      ...values,
    );
  database.run(`DELETE FROM vectors WHERE id IN (SELECT id FROM entries WHERE ${which})`, ...values);
  return database.run(`DELETE FROM entries WHERE ${which}`, ...values);
}
