import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { removeDrafts, writeWhole } from '../stores/payload-store/run-folder.ts';
import { findEntries, type ListedEntry, listedEntry, listEntries, withEntry, withoutEntries, withoutNamespaces } from './entries.ts';
import { type LockOptions, withFileLock } from './file-lock.ts';
import type { MemoryStore } from './memory-store.ts';

/** The options of a memory in a file. */
export interface FileMemoryOptions {
  /** The path of the file, created when needed. */
  file: string;
}

const VERSION = 2;

/**
 * Creates a memory in one file, for the workers of one machine. Each change replaces the file as a whole: a reader finds the values
 * before or after it, and a machine that stops during a change leaves the file as it was. Processes take turns by a lock file beside
 * it, so no change is lost; the lock of a process that has ended is taken over, and so is one that is older than 10 seconds. It does
 * not promise that between machines, on network file systems, or if a process stands still for longer than that in the middle of a
 * change. Every call reads the whole file: it is for hundreds of values. Throws a UsageError without a file.
 */
export function fileMemory(options: FileMemoryOptions): MemoryStore {
  return lockedFileMemory(options, {});
}

/** Creates a memory in a file whose wait for the lock can be set. */
export function lockedFileMemory(options: FileMemoryOptions, lock: LockOptions): MemoryStore {
  if (typeof options.file !== 'string' || options.file === '') {
    throw new UsageError('fileMemory: "file" is missing: write the path of a file that every worker of the machine sees');
  }
  const file = path.resolve(options.file);
  const change = async (changed: (entries: ListedEntry[]) => ListedEntry[]): Promise<number> => {
    await mkdir(path.dirname(file), { recursive: true });
    return withFileLock(
      `${file}.lock`,
      async () => {
        // The process that left a draft has ended, or has lost the lock. It may hold what was forgotten since.
        await removeDrafts(file);
        const before = await readEntries(file);
        const after = changed(before);
        await writeWhole(file, [JSON.stringify({ version: VERSION, entries: after })]);
        return before.length - after.length;
      },
      lock,
    );
  };
  return {
    remember: async (given) => {
      const added = listedEntry(given);
      await change((entries) => withEntry(entries, added));
      return added.entry;
    },
    recall: async (query) => findEntries(await readEntries(file), query),
    forget: (what) => change((entries) => withoutEntries(entries, what)),
    forgetNamespaces: ({ prefix }) => change((entries) => withoutNamespaces(entries, prefix)),
    list: async (what) => listEntries(await readEntries(file), what),
  };
}

/** Reads the entries of a file; none if there is no file. A file with another content is never replaced. */
async function readEntries(file: string): Promise<ListedEntry[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  const { version, entries } = parse(text);
  if (version === VERSION && Array.isArray(entries)) return entries as ListedEntry[];
  throw new LonghaulError('memory_unavailable', `the file "${file}" is no memory of this release: use another file, or move it away`);
}

function parse(text: string): { version?: unknown; entries?: unknown } {
  try {
    return Object(JSON.parse(text)) as { version?: unknown; entries?: unknown };
  } catch {
    return {};
  }
}
