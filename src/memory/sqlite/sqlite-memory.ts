import path from 'node:path';
import { UsageError } from '../../core/domain/errors/error.ts';
import { checkedQuery } from '../search/checked-query.ts';
import { checkedEntry, pageSize, requireNamespace, requirePrefix } from '../entry-bounds.ts';
import { keyBefore, pageOf } from '../key-cursor.ts';
import type { MemoryEntry, MemoryStore } from '../memory-store.ts';
import { openedOnce } from '../opened-once.ts';
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
