import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, LonghaulError } from '../../core/domain/errors/error.ts';
import { createTables, requireMemory } from './tables.ts';

/** Milliseconds that a statement waits for another process. It stops the whole process meanwhile, so the rest of the wait is a timer. */
const BUSY_MS = 50;
const WAIT_MS = 20_000;
const RETRY_MS = 5;

/** A value of a statement. */
export type SqlValue = string | number | Uint8Array | null;

/** An open file of a memory. */
export interface Database {
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

/** Opens a file of a memory, and creates it if there is none: `isPlain` without an index of words, as where Node has no FTS5. Rejects with `memory_unavailable` for a file of another content. */
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
      if (isBusy(error) && performance.now() < end) continue;
      if (!isSqlite(error)) throw error;
      throw new LonghaulError('memory_unavailable', `the file "${file}" cannot be used: ${errorMessage(error)}`, { cause: error });
    }
  }
}

function isSqlite(error: unknown): error is Error & { errcode: number } {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}

/** True for SQLITE_BUSY and SQLITE_LOCKED, with any detail in the higher bits. */
function isBusy(error: unknown): boolean {
  return isSqlite(error) && [5, 6].includes(error.errcode & 0xff);
}
