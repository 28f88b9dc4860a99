import { UsageError } from '../../core/domain/errors/error.ts';
import type { RunStatement } from './postgres-pool.ts';

/** A lock of all processes that create the tables of a memory: an arbitrary number, the same in each of them. */
const LOCK = 7_306_020_411;

/** Bytes of a name in PostgreSQL. */
const MOST_NAME_BYTES = 63;

/** The schema and the tables of a memory in a database. */
export interface Tables {
  /** The name of the table of entries, in quotes and with its schema. */
  entries: string;
  /** The database compares vectors, by the extension `vector`. */
  hasVectors: boolean;
}

/** Returns the table of entries in a schema, as it is written in a statement. Throws a UsageError for a schema without a name. */
export function entriesIn(schema: string): string {
  if (schema !== '' && !schema.includes('\0') && Buffer.byteLength(schema) <= MOST_NAME_BYTES) return `${quoted(schema)}.memory_entries`;
  throw new UsageError(`postgresMemory: "schema" is ${JSON.stringify(schema)}: write a name of 1 to ${MOST_NAME_BYTES} bytes`);
}

/**
 * Creates the schema, the table and the extension `vector` unless they exist. Processes that do so at once wait for each other. A role
 * that may not create them can use those that another role has made.
 */
export async function createTables(run: RunStatement, schema: string): Promise<Tables> {
  const entries = entriesIn(schema);
  const [found] = await run<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [entries]);
  if (found?.exists !== true) await run(creation(schema, entries));
  const [row] = await run<{ exists: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS exists");
  return { entries, hasVectors: row?.exists === true };
}

/**
 * One statement, and therefore one transaction. Names are compared by their bytes, in every database. `number` grows with each change:
 * of equal entries, the one with the higher number is the newer. Vectors are arrays, so that a database without the extension has them too.
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
