import { UsageError } from '../../core/domain/errors/error.ts';
import { type CheckedQuery, checkedQuery } from '../search/checked-query.ts';
import { type CheckedEntry, checkedEntry, pageSize, requireNamespace, requirePrefix } from '../entry-bounds.ts';
import { keyBefore, pageOf } from '../key-cursor.ts';
import type { FoundEntry, MemoryStore } from '../memory-store.ts';
import { openedOnce } from '../opened-once.ts';
import { foldedText, foldedValue } from '../search/searched-text.ts';
import { ENTRY_COLUMNS, entryOf, type EntryRow, forgottenRows, rowOf } from '../stored-row.ts';
import { lexemesOf } from './lexemes.ts';
import { type PostgresPool, type RunStatement, statementsOf } from './postgres-pool.ts';
import { search } from './search.ts';
import { createTables, entriesIn, type Tables } from './tables.ts';

/** The options of a memory in PostgreSQL. */
export interface PostgresMemoryOptions {
  /** The connections: a `Pool` of the package `pg`, or anything with its `query(text, values)`. Its owner closes it. */
  pool: PostgresPool;
  /** The schema of the table, created with it at the first use. Default `longhaul`. */
  schema?: string;
}

/**
 * Creates a memory in PostgreSQL, for workers on any number of machines. Vectors are compared by the extension `vector` (pgvector)
 * where it can be created, and otherwise in the worker. Throws a UsageError for a missing pool or a schema that is no name; its methods
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
      return found(run, await tables(), query);
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
    list: async ({ namespace, cursor, limit }) => {
      requireNamespace(namespace);
      const [after, size] = [keyBefore(cursor), pageSize(limit)];
      const { entries } = await tables();
      const sql = `SELECT ${ENTRY_COLUMNS} FROM ${entries} WHERE namespace = $1 AND key > $2 ORDER BY key LIMIT $3`;
      return pageOf((await run<EntryRow>(sql, [namespace, after, size + 1])).map(entryOf), size);
    },
  };
}

/** Returns the entries that fit a query, the best first. */
async function found(run: RunStatement, tables: Tables, query: CheckedQuery): Promise<FoundEntry[]> {
  const hits = await search(run, tables, query);
  const sql = `SELECT number::text, ${ENTRY_COLUMNS} FROM ${tables.entries} WHERE number = ANY($1::bigint[])`;
  const rows = await run<EntryRow & { number: string }>(sql, [hits.map(({ number }) => number)]);
  const byNumber = new Map(rows.map((row) => [row.number, row]));
  // An entry that was removed meanwhile has no row.
  return hits.flatMap(({ number, score }) => [byNumber.get(number) ?? []].flat().map((row) => ({ ...entryOf(row), score })));
}

/** One statement: two workers that store the same key at once leave one entry. */
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
  return [namespace, key, value, metadata, source, timestamp, foldedKey, folded, lexemesOf(foldedKey, folded), vector ?? null];
}
