import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import type { ForgottenEntries, FoundEntry, MemoryEntry, MemoryStore } from './memory-store.ts';
import { cosineOf, foldedText, foldedValue, type Hit, shareOfWords, weakHits, wordShares } from './search.ts';
import {
  checkedEntry,
  type CheckedEntry,
  checkedQuery,
  type CheckedQuery,
  ENTRY_COLUMNS,
  entryOf,
  type EntryRow,
  forgottenRows,
  keyBefore,
  openedOnce,
  pageOf,
  pageSize,
  requireNamespace,
  requirePrefix,
  rowOf,
} from './stored-entries.ts';

/** The options of a memory in a SQLite file. */
export interface SqliteMemoryOptions {
  /** The path of the file, created when needed, with its folder. Two files next to it, `-wal` and `-shm`, belong to it. */
  file: string;
}

/**
 * Creates a memory in a SQLite file, for the processes of one machine: any number of them may use it at once. A change is stored
 * durably, as a whole or not at all. Forgotten text is overwritten in the file. Words are found by an index (FTS5) if this Node has
 * it, and otherwise by reading the entries of the namespace. Throws a UsageError without a file; its methods reject with
 * `memory_unavailable` if the file is of another program, is broken, or is used by other processes for over 20 seconds.
 */
export function sqliteMemory(options: SqliteMemoryOptions): MemoryStore {
  return sqliteMemoryOf(options, { isPlain: false });
}

/** Creates a memory in a SQLite file, `isPlain` without an index, as where Node has no FTS5. */
export function sqliteMemoryOf(options: SqliteMemoryOptions, how: { isPlain: boolean }): MemoryStore {
  if (typeof options.file !== 'string' || options.file === '') {
    throw new UsageError('sqliteMemory: "file" is missing: write the path of a file that every worker of the machine sees');
  }
  const file = path.resolve(options.file);
  const open = openedOnce(() => openDatabase(file, how));
  const removing = async (remove: (database: Database) => number): Promise<number> => {
    const database = await open();
    const removed = await database.write(() => remove(database));
    // The text of removed entries is still in the log, also after a call that removed them and could not empty it.
    await database.emptyLog();
    return removed;
  };
  return {
    remember: async (given) => {
      const checked = checkedEntry(given);
      const database = await open();
      await database.write(() => insertEntry(database, checked));
      return checked.entry;
    },
    recall: async (given) => {
      const query = checkedQuery(given);
      const database = await open();
      return database.read(() => search(database, query));
    },
    forget: async (what) => {
      requireNamespace(what.namespace);
      return removing((database) => removeEntries(database, what));
    },
    forgetNamespaces: async ({ prefix }) => {
      requirePrefix(prefix);
      return removing((database) => removeNamespaces(database, prefix));
    },
    listNamespaces: async ({ prefix }) => {
      requirePrefix(prefix);
      const database = await open();
      return database.read(() => namespacesOf(database, prefix).toSorted());
    },
    list: async ({ namespace, cursor, limit }) => {
      requireNamespace(namespace);
      const [after, size] = [keyBefore(cursor), pageSize(limit)];
      const database = await open();
      return database.read(() => pageOf(entriesAfter(database, { namespace, after, count: size + 1 }), size));
    },
  };
}

function entriesAfter(database: Database, { namespace, after, count }: { namespace: string; after: string; count: number }): MemoryEntry[] {
  const sql = `SELECT ${ENTRY_COLUMNS} FROM entries WHERE namespace = ? AND key > ? ORDER BY key LIMIT ?`;
  return database.all<EntryRow>(sql, namespaceId(database, namespace) ?? -1, after, count).map(entryOf);
}

/** Stores an entry in place of the one with the same key and namespace. Belongs in a transaction. */
export function insertEntry(database: Database, { namespace, entry, vector }: CheckedEntry): void {
  const space = namespaceId(database, namespace) ?? returned(database, 'INSERT INTO namespaces (name) VALUES (?) RETURNING id', namespace);
  removeRows(database, 'namespace = ? AND key = ?', space, entry.key);
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
function removeEntries(database: Database, what: ForgottenEntries): number {
  const space = namespaceId(database, what.namespace);
  if (space === undefined) return 0;
  const parts = forgottenRows(what);
  const which = ['namespace = ?', ...parts.map(([column]) => `${column} = ?`)].join(' AND ');
  const removed = removeRows(database, which, space, ...parts.map(([, value]) => value));
  // The name of a namespace reveals its owner.
  database.run('DELETE FROM namespaces WHERE id = ? AND NOT EXISTS (SELECT 1 FROM entries WHERE namespace = ?)', space, space);
  return removed;
}

/** Removes the entries of all namespaces that begin with a text. Returns their number. Belongs in a transaction. */
function removeNamespaces(database: Database, prefix: string): number {
  return namespacesOf(database, prefix).reduce((sum, namespace) => sum + removeEntries(database, { namespace }), 0);
}

/** Returns the namespaces that begin with a text: each has entries. */
function namespacesOf(database: Database, prefix: string): string[] {
  const names = database.all<{ name: string }>('SELECT name FROM namespaces').map(({ name }) => name);
  return names.filter((name) => name.startsWith(prefix));
}

/** The number of bits of an entry's number. Its namespace is in the bits above: room for 8 million namespaces and 10^12 changes. */
const NUMBER_BITS = 40;

/** The id of an entry, of the id of its namespace and its number. */
const ENTRY_ID = `(? << ${NUMBER_BITS}) + ?`;

/** Returns the id that a statement returns. */
function returned(database: Database, sql: string, ...values: string[]): number {
  const [row] = database.all<{ id: number }>(sql, ...values);
  if (row !== undefined) return row.id;
  throw new LonghaulError('memory_unavailable', 'the file of the memory is damaged: its counter of changes is missing');
}

function removeRows(database: Database, which: string, ...values: (string | number)[]): number {
  if (database.isIndexed)
    database.run(
      `INSERT INTO words (words, rowid, folded_key, folded_value) SELECT 'delete', id, folded_key, folded_value FROM entries WHERE ${which}`,
      ...values,
    );
  database.run(`DELETE FROM vectors WHERE id IN (SELECT id FROM entries WHERE ${which})`, ...values);
  return database.run(`DELETE FROM entries WHERE ${which}`, ...values);
}

/** The most rows that a statement returns. */
const ALL_ROWS = 2 ** 31;

/** An entry that fits, by its number in its namespace. */
type NumberedHit = Hit<number>;

/** The number of an entry, and the condition for entries of one namespace, whose id is given twice. */
const NUMBER = `id & ((1 << ${NUMBER_BITS}) - 1) AS number`;
const IN_SPACE = `BETWEEN (? << ${NUMBER_BITS}) AND ((? + 1) << ${NUMBER_BITS}) - 1`;

/** Returns the entries that fit a query, the best first. Belongs in a transaction. */
function search(database: Database, { namespace, text, words, vector, ...query }: CheckedQuery): FoundEntry[] {
  const wanted = Math.min(query.wanted, ALL_ROWS);
  const space = namespaceId(database, namespace);
  if (wanted === 0 || space === undefined) return [];
  const hits = containing(database, { space, text, limit: wanted });
  if (hits.length < wanted) {
    // Without vectors, the best by their words are the best.
    const limit = vector === undefined ? Math.min(wanted + hits.length, ALL_ROWS) : ALL_ROWS;
    const meanings = vector === undefined ? [] : meaningHits(database, space, vector);
    hits.push(...weakHits(wordHits(database, { space, words, limit }), meanings, hits));
  }
  return hits.slice(0, wanted).flatMap(({ number, score }) => {
    const rows = database.all<EntryRow>(`SELECT ${ENTRY_COLUMNS} FROM entries WHERE id = (? << ${NUMBER_BITS}) + ?`, space, number);
    return rows.map((row) => ({ ...entryOf(row), score }));
  });
}

/** Returns the entries whose key or value contains the text, the best first. */
function containing(database: Database, { space, text, limit }: { space: number; text: string; limit: number }): NumberedHit[] {
  return database.all<NumberedHit>(
    `SELECT ${NUMBER}, CASE WHEN folded_key = ? THEN 1.0 WHEN instr(folded_key, ?) THEN 0.7 ELSE 0.4 END AS score
     FROM entries WHERE id ${IN_SPACE} AND (instr(folded_key, ?) OR instr(folded_value, ?))
     ORDER BY score DESC, number DESC LIMIT ?`,
    text,
    text,
    space,
    space,
    text,
    text,
    limit,
  );
}

/** The words of a query, and the namespace to search. */
interface WordQuery {
  space: number;
  words: readonly string[];
  limit: number;
}

/** Returns the entries that have words of the query, with their share of its weight, the best first. */
function wordHits(database: Database, query: WordQuery): NumberedHit[] {
  if (query.words.length === 0) return [];
  return database.isIndexed ? indexedHits(database, query) : plainHits(database, query);
}

/** Queries the index for one word at a time, in the namespace: its own ranking counts the entries of all namespaces. */
function indexedHits(database: Database, { space, words, limit }: WordQuery): NumberedHit[] {
  const rows = `SELECT rowid AS id, ? AS share FROM words WHERE words MATCH ? AND rowid ${IN_SPACE}`;
  // A quoted text is words to FTS5, never an operator, and a word has no quotes in it.
  const terms = words.map((word) => `"${word}"`);
  const having = terms.map((term) => countOf(database, `(${rows})`, 0, term, space, space));
  const shares = shareOfWords(having, countOf(database, 'entries WHERE namespace = ?', space));
  const had = terms
    .map((term, index) => ({ term, share: having[index] === 0 ? 0 : (shares[index] ?? 0) }))
    .filter(({ share }) => share > 0);
  if (had.length === 0) return [];
  return database.all<NumberedHit>(
    `SELECT ${NUMBER}, min(1.0, sum(share)) AS score FROM (${had.map(() => rows).join(' UNION ALL ')})
     GROUP BY id ORDER BY score DESC, number DESC LIMIT ?`,
    ...had.flatMap(({ term, share }) => [share, term, space, space]),
    limit,
  );
}

/** Reads all entries of the namespace. */
function plainHits(database: Database, { space, words }: WordQuery): NumberedHit[] {
  const sql = `SELECT ${NUMBER}, folded_key || ' ' || folded_value AS text FROM entries WHERE id ${IN_SPACE}`;
  const rows = database.all<{ number: number; text: string }>(sql, space, space);
  const texts = rows.map(({ text }) => text);
  const shares = wordShares(texts, words);
  return rows.map(({ number }, index) => ({ number, score: shares[index] ?? 0 }));
}

function countOf(database: Database, from: string, ...values: (string | number)[]): number {
  return database.all<{ count: number }>(`SELECT count(*) AS count FROM ${from}`, ...values)[0]?.count ?? 0;
}

/** Returns the entries with a vector of the same length, with their cosine. Reads all vectors of the namespace. */
function* meaningHits(database: Database, space: number, vector: readonly number[]): Iterable<NumberedHit> {
  const asked = Float32Array.from(vector);
  const sql = `SELECT ${NUMBER}, vector FROM vectors WHERE id ${IN_SPACE} AND length(vector) = ?`;
  for (const row of database.each<{ number: number; vector: Uint8Array }>(sql, space, space, asked.byteLength)) {
    // A copy: the numbers must begin at a multiple of four bytes.
    yield { number: row.number, score: cosineOf(new Float32Array(row.vector.slice().buffer), asked) };
  }
}

/** Returns the id of a namespace; undefined for one without entries. */
function namespaceId(database: Database, name: string): number | undefined {
  return database.all<{ id: number }>('SELECT id FROM namespaces WHERE name = ?', name)[0]?.id;
}

/** Milliseconds that a statement waits for another process. It stops the whole process meanwhile, so the rest of the wait is a timer. */
const BUSY_MS = 50;
const WAIT_MS = 20_000;
const RETRY_MS = 5;

/** A value of a statement. */
type SqlValue = string | number | Uint8Array | null;

/** An open file of a memory. */
interface Database {
  /** The words of entries are indexed by FTS5. */
  readonly isIndexed: boolean;
  /** Runs a statement and returns its rows. */
  all<Row>(sql: string, ...values: SqlValue[]): Row[];
  /** Runs a statement and returns its rows one by one, for many. */
  each<Row>(sql: string, ...values: SqlValue[]): Iterable<Row>;
  /** Runs a statement and returns the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): number;
  /** Runs work in one transaction, all or nothing. Waits for other processes. The work may be run again, and must be synchronous. */
  write<Result>(work: () => Result): Promise<Result>;
  /** Runs work that sees the file at one moment. */
  read<Result>(work: () => Result): Promise<Result>;
  /** Empties the write-ahead log. Waits until no other process reads from it. */
  emptyLog(): Promise<void>;
}

/** Opens or creates a memory file. `isPlain`: no word index, as if Node lacked FTS5. Rejects with `memory_unavailable` for other files. */
export async function openDatabase(file: string, options: { isPlain: boolean }): Promise<Database> {
  mkdirSync(path.dirname(file), { recursive: true });
  const sqlite = connect(file);
  try {
    // Before any setting: some of them are written into the file, which may be of another program. In a transaction that reads: another
    // process may create the tables meanwhile.
    await whenFree(file, () => inTransaction(sqlite, 'DEFERRED', () => requireMemory(sqlite, file)));
    return await whenFree(file, () => prepared(sqlite, file, options));
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Loads SQLite only here: on Node 22, loading it warns that it is experimental. */
function connect(file: string): DatabaseSync {
  try {
    const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
    return new Sqlite(file, { timeout: BUSY_MS });
  } catch (error) {
    throw new LonghaulError('memory_unavailable', `the file "${file}" cannot be opened: ${errorMessage(error)}`, { cause: error });
  }
}

function prepared(sqlite: DatabaseSync, file: string, options: { isPlain: boolean }): Database {
  // In this order: the deleted text of the first transaction must be overwritten too.
  for (const setting of ['secure_delete = ON', 'journal_mode = WAL', 'synchronous = FULL', 'temp_store = MEMORY', 'foreign_keys = OFF']) {
    sqlite.exec(`PRAGMA ${setting}`);
  }
  const isIndexed = inTransaction(sqlite, 'IMMEDIATE', () => createTables(sqlite, file, options));
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  const statement = (sql: string): ReturnType<DatabaseSync['prepare']> => {
    const known = statements.get(sql) ?? sqlite.prepare(sql);
    statements.set(sql, known);
    return known;
  };
  return {
    isIndexed,
    all: <Row>(sql: string, ...values: SqlValue[]) => statement(sql).all(...values) as Row[],
    each: <Row>(sql: string, ...values: SqlValue[]) => statement(sql).iterate(...values) as Iterable<Row>,
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
    write: (work) => whenFree(file, () => inTransaction(sqlite, 'IMMEDIATE', work)),
    read: (work) => whenFree(file, () => inTransaction(sqlite, 'DEFERRED', work)),
    emptyLog: () =>
      whenFree(file, () => {
        const { busy } = sqlite.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
        if (busy !== 0) throw new BusyError();
      }),
  };
}

function inTransaction<Result>(sqlite: DatabaseSync, kind: 'IMMEDIATE' | 'DEFERRED', work: () => Result): Result {
  sqlite.exec(`BEGIN ${kind}`);
  try {
    const result = work();
    sqlite.exec('COMMIT');
    return result;
  } catch (error) {
    if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
    throw error;
  }
}

/** Another process uses the file. */
class BusyError extends Error {
  readonly errcode = 5;
}

/** Runs work again until no other process is in its way. Rejects with `memory_unavailable` after 20 seconds, and for a broken file. */
async function whenFree<Result>(file: string, work: () => Result): Promise<Result> {
  for (const end = performance.now() + WAIT_MS; ; await sleep(RETRY_MS * (1 + Math.random() * 3))) {
    try {
      return work();
    } catch (error) {
      if (!isSqlite(error)) throw error;
      // SQLITE_BUSY and SQLITE_LOCKED, with any detail in the higher bits.
      if ([5, 6].includes(error.errcode & 0xff) && performance.now() < end) continue;
      throw new LonghaulError('memory_unavailable', `the file "${file}" cannot be used: ${errorMessage(error)}`, { cause: error });
    }
  }
}

function isSqlite(error: unknown): error is Error & { errcode: number } {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}

/** The version of the tables, in the file's `user_version`. */
const VERSION = 1;

/**
 * The tables of a memory. The id of an entry consists of the id of its namespace and, in the lower 40 bits, a number that grows with each
 * change of the file. So the entries of one namespace lie together, in the table and in the index, a search of one namespace reads no
 * other, and a newer entry has a higher number. What a search compares comes first in a row, and vectors have a separate table: a
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

/** Creates the tables of a memory in a new file, in a transaction. Returns true if words are indexed. Throws as `requireMemory`. */
function createTables(sqlite: DatabaseSync, file: string, { isPlain }: { isPlain: boolean }): boolean {
  // Another process may have created them since the file was opened.
  if (requireMemory(sqlite, file) === 'memory') {
    return sqlite.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'words'").get() !== undefined;
  }
  sqlite.exec(TABLES);
  const isIndexed = !isPlain && sqlite.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
  if (isIndexed) sqlite.exec(INDEX);
  sqlite.exec(`PRAGMA user_version = ${VERSION}`);
  return isIndexed;
}

/** Returns `memory` for the file of a memory, and `new` for an empty file. Throws `memory_unavailable` for any other file, unchanged. */
function requireMemory(sqlite: DatabaseSync, file: string): 'memory' | 'new' {
  const { user_version: version } = sqlite.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version === VERSION) return 'memory';
  const { tables } = sqlite.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (version === 0 && tables === 0) return 'new';
  throw new LonghaulError('memory_unavailable', `the file "${file}" is not a memory of this release: use another file, or move it away`);
}
