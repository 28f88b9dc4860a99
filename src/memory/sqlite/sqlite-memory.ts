import path from 'node:path';
import { UsageError } from '../../core/domain/errors/error.ts';
import { checkedEntry, pageSize, requireForgettable, requireNamespace, requirePrefix, requireVector } from '../entry-bounds.ts';
import { keyBefore, pageOf } from '../key-cursor.ts';
import type { MemoryEntry, MemoryStore } from '../memory-store.ts';
import { ENTRY_COLUMNS, entryOf, type EntryRow } from '../stored-row.ts';
import { type Database, openDatabase } from './database.ts';
import { namespaceId } from './namespace-id.ts';
import { search } from './search.ts';
import { insertEntry, removeEntries, removeNamespaces } from './write.ts';

/** The options of a memory in a SQLite file. */
export interface SqliteMemoryOptions {
  /** The path of the file, created when needed, with its folder. Two files beside it, `-wal` and `-shm`, belong to it. */
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
  let opened: Promise<Database> | undefined;
  const open = (): Promise<Database> => {
    opened ??= openDatabase(file, how).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const removing = async (remove: (database: Database) => number): Promise<number> => {
    const database = await open();
    const removed = await database.write(() => remove(database));
    // The text of removed entries is still in the log, also after a call that removed them and could not empty it.
    await database.emptyLog();
    return removed;
  };
  return {
    remember: async (given) => {
      const entry = checkedEntry(given);
      const database = await open();
      await database.write(() => insertEntry(database, given.namespace, entry, given.vector));
      return entry;
    },
    recall: async (query) => {
      if (query.namespace !== undefined) requireNamespace(query.namespace);
      if (query.vector !== undefined) requireVector('The vector of the query', query.vector);
      const database = await open();
      return database.read(() => search(database, query));
    },
    forget: async (what) => {
      requireForgettable(what);
      return removing((database) => removeEntries(database, what));
    },
    forgetNamespaces: async ({ prefix }) => {
      requirePrefix(prefix);
      return removing((database) => removeNamespaces(database, prefix));
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
