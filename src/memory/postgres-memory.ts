import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import type { FoundEntry, MemoryStore } from './memory-store.ts';
import { cosineOf, foldedText, foldedValue, type Hit, shareOfWords, weakHits, wordsOf } from './search.ts';
import {
  type CheckedEntry,
  checkedEntry,
  type CheckedQuery,
  checkedQuery,
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

/** The options of a memory in PostgreSQL. */
export interface PostgresMemoryOptions {
  /** The connections: a `Pool` of the package `pg`, or anything with its `query(text, values)`. Its owner closes it. */
  pool: PostgresPool;
  /** The schema of the table. Both are created at the first use. Default `longhaul`. */
  schema?: string;
}

/**
 * Creates a memory in PostgreSQL, for workers on any number of machines. Vectors are compared with the extension `vector` (pgvector)
 * where it can be created, and otherwise in the worker. Throws a UsageError for a missing pool or an invalid schema name; its methods
 * reject with `memory_unavailable` if the database refuses a statement.
 */
export function postgresMemory({ pool, schema = 'longhaul' }: PostgresMemoryOptions): MemoryStore {
  if (typeof pool?.query !== 'function')
    throw new UsageError('postgresMemory: "pool" is missing: write new Pool({ … }) of the package "pg"');
  entriesIn(schema);
  const run = statementsOf(pool);
  const tables = openedOnce(() => createTables(run, schema));
  const remove = async (which: string, values: (string | number)[]): Promise<number> => {
    const { entries } = await tables();
    const sql = `WITH removed AS (DELETE FROM ${entries} WHERE ${which} RETURNING 1) SELECT count(*)::int AS count FROM removed`;
    return (await run<{ count: number }>(sql, values))[0]?.count ?? 0;
  };
  return {
    remember: async (given) => {
      const checked = checkedEntry(given);
      const { entries } = await tables();
      await run(insertion(entries), valuesOf(checked));
      return checked.entry;
    },
    recall: async (given) => {
      const query = checkedQuery(given);
      return findEntries(run, await tables(), query);
    },
    forget: async (what) => {
      requireNamespace(what.namespace);
      const parts = forgottenRows(what);
      const which = ['namespace = $1', ...parts.map(([column], index) => `${column} = $${index + 2}`)].join(' AND ');
      return remove(which, [what.namespace, ...parts.map(([, value]) => value)]);
    },
    forgetNamespaces: async ({ prefix }) => {
      requirePrefix(prefix);
      return remove('starts_with(namespace, $1)', [prefix]);
    },
    listNamespaces: async ({ prefix }) => {
      requirePrefix(prefix);
      const { entries } = await tables();
      const sql = `SELECT DISTINCT namespace FROM ${entries} WHERE starts_with(namespace, $1) ORDER BY namespace`;
      return (await run<{ namespace: string }>(sql, [prefix])).map(({ namespace }) => namespace);
    },
    list: async ({ namespace, cursor, limit }) => {
      requireNamespace(namespace);
      const [after, size] = [keyBefore(cursor), pageSize(limit)];
      const { entries } = await tables();
      const sql = `SELECT ${ENTRY_COLUMNS} FROM ${entries} WHERE namespace = $1 AND key > $2 ORDER BY key LIMIT $3`;
      return pageOf((await run<EntryRow>(sql, [namespace, after, size + 1])).map(entryOf), size);
    },
  };
}

/** Returns the entries that match a query, best first. */
async function findEntries(run: RunStatement, tables: Tables, query: CheckedQuery): Promise<FoundEntry[]> {
  const hits = await search(run, tables, query);
  const sql = `SELECT number::text, ${ENTRY_COLUMNS} FROM ${tables.entries} WHERE number = ANY($1::bigint[])`;
  const rows = await run<EntryRow & { number: string }>(sql, [hits.map(({ number }) => number)]);
  const byNumber = new Map(rows.map((row) => [row.number, row]));
  // An entry that was removed meanwhile has no row.
  return hits.flatMap(({ number, score }) => [byNumber.get(number) ?? []].flat().map((row) => ({ ...entryOf(row), score })));
}

/** Returns one statement, so that two workers that store the same key at once leave one entry. */
function insertion(entries: string): string {
  return `INSERT INTO ${entries} (namespace, key, value, metadata, source, timestamp, folded_key, folded_value, words, vector)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, array_to_tsvector($9::text[]), $10::real[])
    ON CONFLICT (namespace, key) DO UPDATE SET number = excluded.number, value = excluded.value, metadata = excluded.metadata,
      source = excluded.source, timestamp = excluded.timestamp, folded_key = excluded.folded_key, folded_value = excluded.folded_value,
      words = excluded.words, vector = excluded.vector`;
}

function valuesOf({ namespace, entry, vector }: CheckedEntry): unknown[] {
  const [foldedKey, folded] = [foldedText(entry.key), foldedValue(entry.value)];
  const { key, value, metadata, source, timestamp } = rowOf(entry);
  return [
    namespace,
    key,
    value,
    metadata,
    source,
    timestamp,
    foldedKey,
    folded,
    [...new Set(wordsOf(`${foldedKey} ${folded}`).map(lexeme))],
    vector ?? null,
  ];
}

/** A matching entry by its number, which is a text because it may exceed the precision of a number. */
type NumberedHit = Hit<string>;

/** Returns the entries that match a query, best first. */
async function search(run: RunStatement, tables: Tables, query: CheckedQuery): Promise<NumberedHit[]> {
  const found = await containing(run, tables, query);
  if (found.length >= query.wanted) return found;
  const [words, meanings] = [await wordHits(run, tables, query), await meaningHits(run, tables, query)];
  return [...found, ...weakHits(words, meanings, found)].slice(0, query.wanted);
}

async function containing(run: RunStatement, { entries }: Tables, { namespace, text, wanted }: CheckedQuery): Promise<NumberedHit[]> {
  return run<NumberedHit>(
    `SELECT number::text, (CASE WHEN folded_key = $2 THEN 1 WHEN strpos(folded_key, $2) > 0 THEN 0.7 ELSE 0.4 END)::float8 AS score
     FROM ${entries} WHERE namespace = $1 AND (strpos(folded_key, $2) > 0 OR strpos(folded_value, $2) > 0)
     ORDER BY score DESC, memory_entries.number DESC LIMIT $3::bigint`,
    [namespace, text, Number.isFinite(wanted) ? wanted : null],
  );
}

async function wordHits(run: RunStatement, { entries }: Tables, { namespace, words: asked }: CheckedQuery): Promise<NumberedHit[]> {
  const words = asked.map(lexeme);
  if (words.length === 0) return [];
  // A quoted text is one word to a tsquery, never an operator, and a word has no quotes in it.
  const matches = `words @@ ('''' || word || '''')::tsquery`;
  const counts = await run<{ word: string; having: number; all: number }>(
    `SELECT word, (SELECT count(*)::int FROM ${entries} WHERE namespace = $1 AND ${matches}) AS "having",
       (SELECT count(*)::int FROM ${entries} WHERE namespace = $1) AS "all"
     FROM unnest($2::text[]) AS word`,
    [namespace, words],
  );
  const having = counts.map((count) => count.having);
  const shares = shareOfWords(having, counts[0]?.all ?? 0);
  const useful = counts.flatMap(({ word }, index) =>
    having[index] === 0 || shares[index] === 0 ? [] : [{ word, share: shares[index] ?? 0 }],
  );
  return run<NumberedHit>(
    `SELECT number::text, least(1, sum(share))::float8 AS score
     FROM unnest($2::text[], $3::float8[]) AS asked (word, share) JOIN ${entries} ON namespace = $1 AND ${matches}
     GROUP BY memory_entries.number`,
    [namespace, useful.map(({ word }) => word), useful.map(({ share }) => share)],
  );
}

/** Compares vectors in the database if possible, otherwise here, which reads all vectors of the namespace. */
async function meaningHits(
  run: RunStatement,
  { entries, hasVectors }: Tables,
  { namespace, vector }: CheckedQuery,
): Promise<NumberedHit[]> {
  if (vector === undefined) return [];
  const which = `FROM ${entries} WHERE namespace = $1 AND array_length(vector, 1) = $2`;
  if (hasVectors) {
    const sql = `SELECT number::text, (1 - (vector::vector <=> $3::real[]::vector))::float8 AS score ${which}`;
    return run<NumberedHit>(sql, [namespace, vector.length, vector]);
  }
  const rows = await run<{ number: string; vector: number[] }>(`SELECT number::text, vector ${which}`, [namespace, vector.length]);
  return rows.map((row) => ({ number: row.number, score: cosineOf(row.vector, vector) }));
}

/** The significant characters of a word: PostgreSQL refuses words of over 2,046 bytes. */
const MOST_CHARS = 200;

/** Returns a word as the index has it. */
function lexeme(word: string): string {
  return word.slice(0, MOST_CHARS).toWellFormed();
}

/** The lock for creating the tables of a memory: an arbitrary number, the same in all processes. */
const LOCK = 7_306_020_411;

/** The most bytes of a name in PostgreSQL. */
const MOST_NAME_BYTES = 63;

/** The schema and the tables of a memory in a database. */
interface Tables {
  /** The quoted name of the table of entries, with its schema. */
  entries: string;
  /** True if the database compares vectors with the extension `vector`. */
  hasVectors: boolean;
}

/** Returns the quoted table of entries in a schema. Throws a UsageError for an invalid schema name. */
function entriesIn(schema: string): string {
  if (schema !== '' && !schema.includes('\0') && Buffer.byteLength(schema) <= MOST_NAME_BYTES) return `${quoted(schema)}.memory_entries`;
  throw new UsageError(`postgresMemory: "schema" is ${JSON.stringify(schema)}: write a name of 1 to ${MOST_NAME_BYTES} bytes`);
}

/**
 * Creates the schema, the table and the extension `vector` unless they exist. Concurrent processes wait for each other. A role
 * that may not create them can use existing ones.
 */
async function createTables(run: RunStatement, schema: string): Promise<Tables> {
  const entries = entriesIn(schema);
  const [found] = await run<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [entries]);
  if (found?.exists !== true) await run(creation(schema, entries));
  const [row] = await run<{ exists: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS exists");
  return { entries, hasVectors: row?.exists === true };
}

/**
 * Returns one statement, and therefore one transaction. Names are compared by bytes in every database. `number` grows with each change:
 * of equal entries, the one with the higher number is newer. Vectors are arrays, so that they also work without the extension.
 */
function creation(schema: string, entries: string): string {
  return `DO $longhaul$ BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK});
  -- Opening a catalog drops what this session still believes to be missing, and another has created while this one waited.
  PERFORM count(*) FROM pg_catalog.pg_namespace;
  CREATE SCHEMA IF NOT EXISTS ${quoted(schema)};
  CREATE TABLE IF NOT EXISTS ${entries} (
    number bigserial NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    metadata text NOT NULL,
    source text,
    timestamp double precision NOT NULL,
    folded_key text COLLATE "C" NOT NULL,
    folded_value text COLLATE "C" NOT NULL,
    words tsvector NOT NULL,
    vector real[],
    PRIMARY KEY (namespace, key)
  );
  CREATE UNIQUE INDEX IF NOT EXISTS memory_entries_number ON ${entries} (number);
  CREATE INDEX IF NOT EXISTS memory_entries_words ON ${entries} USING gin (words);
  BEGIN
    CREATE EXTENSION IF NOT EXISTS vector;
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'The extension vector cannot be created: vectors are compared in the worker';
  END;
END $longhaul$`;
}

function quoted(name: string): string {
  if (name.includes('$longhaul$')) throw new UsageError(`postgresMemory: "schema" is ${JSON.stringify(name)}: leave out "$longhaul$"`);
  return `"${name.replaceAll('"', '""')}"`;
}

/** A connection to PostgreSQL, such as a `Pool` of the package `pg`, or PGlite. */
export interface PostgresPool {
  /** Runs a statement with values for `$1`, `$2`, …. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Runs one statement as a separate transaction, and returns its rows. Rejects with `memory_unavailable` if the database does. */
type RunStatement = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;

function statementsOf(pool: PostgresPool): RunStatement {
  return async <Row>(text: string, values: unknown[] = []) => {
    try {
      return (await pool.query(text, values)).rows as Row[];
    } catch (error) {
      throw new LonghaulError('memory_unavailable', `PostgreSQL cannot be used as a memory: ${errorMessage(error)}`, { cause: error });
    }
  };
}
