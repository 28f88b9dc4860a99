import type { DatabaseSync } from 'node:sqlite';
import { LonghaulError } from '../../core/domain/errors/error.ts';

/** The version of the tables, in the file's `user_version`. */
const VERSION = 1;

/** The number of bits of an entry's number. Its namespace is in the bits above: room for 8 million namespaces and 10^12 changes. */
export const NUMBER_BITS = 40;

/**
 * The tables of a memory. The id of an entry is made of the id of its namespace and, in the lower 40 bits, a number that grows with each
 * change of the file. So the entries of one namespace lie together, in the table and in the index, a search of one namespace reads no
 * other, and a newer entry has a higher number. What a search compares comes first in a row, and vectors have a table of their own: a
 * search reads few pages.
 */
const TABLES = `
CREATE TABLE changes (last INTEGER NOT NULL);
INSERT INTO changes VALUES (0);
CREATE TABLE namespaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  folded_key TEXT NOT NULL,
  folded_value TEXT NOT NULL,
  namespace INTEGER NOT NULL,
  key TEXT NOT NULL,
  timestamp REAL NOT NULL,
  source TEXT,
  metadata TEXT NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (namespace, key)
);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);`;

/** An index of the words of entries without a copy of their text. A removed word is overwritten, not marked. */
const INDEX = `
CREATE VIRTUAL TABLE words USING fts5(
  folded_key, folded_value, content='entries', content_rowid='id', columnsize=0,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M*'"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);`;

/** Creates the tables of a memory in a new file. Returns true if its words are indexed. Throws as `requireMemory`. Belongs in a transaction. */
export function createTables(sqlite: DatabaseSync, file: string, { isPlain }: { isPlain: boolean }): boolean {
  // Another process may have created them since the file was opened.
  if (requireMemory(sqlite, file) === 'memory') return hasTable(sqlite, 'words');
  sqlite.exec(TABLES);
  const isIndexed = !isPlain && hasFts5(sqlite);
  if (isIndexed) sqlite.exec(INDEX);
  sqlite.exec(`PRAGMA user_version = ${VERSION}`);
  return isIndexed;
}

/** Returns `memory` for the file of a memory, and `new` for one without content. Throws `memory_unavailable` for a file that another program or release has made, and changes nothing. */
export function requireMemory(sqlite: DatabaseSync, file: string): 'memory' | 'new' {
  const { user_version: version } = sqlite.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version === VERSION) return 'memory';
  const { tables } = sqlite.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (version === 0 && tables === 0) return 'new';
  throw new LonghaulError('memory_unavailable', `the file "${file}" is no memory of this release: use another file, or move it away`);
}

function hasFts5(sqlite: DatabaseSync): boolean {
  return sqlite.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
}

function hasTable(sqlite: DatabaseSync, name: string): boolean {
  return sqlite.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
}
