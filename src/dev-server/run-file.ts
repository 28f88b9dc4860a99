import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../core/domain/errors.ts';
import { isJsonObject } from '../core/domain/json.ts';
import { DevServerError } from './dev-server-error.ts';

/** The time that the server of a session which was killed may take to end, in milliseconds: its guard kills it after three seconds. */
const LEFT_WITHIN_MS = 10_000;
const RETRY_MS = 100;

/** The file in which a server keeps runs, held for one session. */
export interface RunFile {
  /** Says, to others that want the file, where this session answers. */
  tell(address: string): void;
  /** Lets others have the file. */
  release(): void;
}

/**
 * Holds the file of runs for this process, and waits until no server uses it any more: two servers on one file would break each other. The
 * lock is that of the operating system on a file beside it, so that it ends with this process, however that ends. Throws a `DevServerError`
 * that names the session which has the file.
 */
export async function holdRunFile(file: string, signal?: AbortSignal): Promise<RunFile> {
  const lock = lockedDatabase(`${file}.lock`);
  if (lock === undefined) throw new DevServerError(`${holderOf(file)} keeps its runs in "${file}": ${WAYS_OUT}`);
  const owner = ownerFile(file);
  const release = (): void => {
    if (!lock.isOpen) return;
    rmSync(owner, { force: true });
    lock.close();
  };
  try {
    await untilUnused(file, signal);
    return { tell: (address) => writeFileSync(owner, JSON.stringify({ pid: process.pid, address })), release };
  } catch (error) {
    release();
    throw error;
  }
}

const WAYS_OUT = 'use that one, end it, or start this one with --memory, or with --db and another file';

/** Waits until no process has the database open. */
async function untilUnused(file: string, signal: AbortSignal | undefined): Promise<void> {
  if (!existsSync(file)) return;
  for (const end = performance.now() + LEFT_WITHIN_MS; ; await sleep(RETRY_MS, undefined, { signal })) {
    const database = lockedDatabase(file);
    if (database !== undefined) return database.close();
    if (performance.now() > end) throw new DevServerError(`Another program uses "${file}": ${WAYS_OUT}`);
  }
}

/** SQLite's code for a file that another connection has locked. */
const BUSY = 5;

/** Opens a database so that no other process can; undefined if another one has it open. Throws a `DevServerError` for a file that is none. */
function lockedDatabase(file: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    // Loaded only here: on Node 22, loading it warns that it is experimental.
    const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
    database = new Sqlite(file, { timeout: 0 });
    // A server that is idle has no transaction, and its connection is in the way of this mode alone.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === BUSY)
      return undefined;
    throw new DevServerError(`The file "${file}" cannot keep runs: ${errorMessage(error)}. Name another one with --db, or remove it`, {
      cause: error,
    });
  }
}

function ownerFile(file: string): string {
  return `${file}.owner`;
}

/** Names the session that has the file, as far as it has told. */
function holderOf(file: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(ownerFile(file), 'utf8'));
    const { pid, address } = isJsonObject(owner) ? owner : {};
    if (typeof pid === 'number' && typeof address === 'string') return `Another "longhaul dev" (process ${pid}, server at ${address})`;
  } catch {
    // It is only starting.
  }
  return 'Another "longhaul dev"';
}
