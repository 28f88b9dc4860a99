import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined, parsedJson } from '../core/domain/json.ts';
import { ifThere } from '../stores/payload-store.ts';
import { changeFile, type LockOptions } from './file-lock.ts';
import type { ForgottenEntries, FoundEntry, MemoryEntry, MemoryPage, MemoryStore, NewEntry, RecallQuery } from './memory-store.ts';
import { cosineOf, foldedText, foldedValue, textScore, weakScore, wordShares } from './search.ts';
import { checkedEntry, checkedQuery, compareKeys, keyBefore, pageOf, pageSize, requireNamespace, requirePrefix } from './stored-entries.ts';

/** The options of a memory in a file. */
export interface FileMemoryOptions {
  /** The path of the file, created when needed. */
  file: string;
}

const VERSION = 2;

/**
 * Creates a memory in one file, for the workers of one machine. Each change replaces the whole file: a reader finds the values
 * before or after it, and a crash during a change leaves the file unchanged. Processes take turns using a lock file next to
 * it, so no change is lost; a lock is taken over if its process has ended or if it is older than 10 seconds. There is no such
 * guarantee between machines, on network file systems, or if a process is suspended for longer than that in the middle of a
 * change. Every call reads the whole file: use it for hundreds of values. Throws a UsageError without a file.
 */
export function fileMemory(options: FileMemoryOptions): MemoryStore {
  return lockedFileMemory(options, {});
}

/** Creates a memory in a file with configurable lock options. */
export function lockedFileMemory(options: FileMemoryOptions, lock: LockOptions): MemoryStore {
  if (typeof options.file !== 'string' || options.file === '') {
    throw new UsageError('fileMemory: "file" is missing: write the path of a file that every worker of the machine sees');
  }
  const file = path.resolve(options.file);
  const change = async (changed: (entries: ListedEntry[]) => ListedEntry[]): Promise<number> => {
    let removed = 0;
    const next = async (): Promise<string> => {
      const before = await readEntries(file);
      const after = changed(before);
      removed = before.length - after.length;
      return JSON.stringify({ version: VERSION, entries: after });
    };
    await changeFile(file, next, lock);
    return removed;
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
    listNamespaces: async ({ prefix }) => namespacesIn(await readEntries(file), prefix),
    list: async (what) => listEntries(await readEntries(file), what),
  };
}

/** Reads the entries of a file; none if there is no file. A file with another content is never replaced. */
async function readEntries(file: string): Promise<ListedEntry[]> {
  const text = await ifThere(readFile(file, 'utf8'));
  if (text === undefined) return [];
  const { version, entries } = Object(parsedJson(text)) as { version?: unknown; entries?: unknown };
  if (version === VERSION && Array.isArray(entries)) return entries as ListedEntry[];
  throw new LonghaulError('memory_unavailable', `the file "${file}" is not a memory of this release: use another file, or move it away`);
}

/** Creates a memory that lasts as long as the process, for tests. */
export function inMemory(): MemoryStore {
  let list: ListedEntry[] = [];
  return {
    remember: async (given) => {
      const added = listedEntry(given);
      list = withEntry(list, added);
      return structuredClone(added.entry);
    },
    recall: async (query) => findEntries(list, query),
    forget: async (what) => {
      const before = list.length;
      list = withoutEntries(list, what);
      return before - list.length;
    },
    forgetNamespaces: async ({ prefix }) => {
      const before = list.length;
      list = withoutNamespaces(list, prefix);
      return before - list.length;
    },
    listNamespaces: async ({ prefix }) => namespacesIn(list, prefix),
    list: async (what) => listEntries(list, what),
  };
}

/** An entry in the list of all entries of a memory, oldest first. */
interface ListedEntry {
  namespace: string;
  entry: MemoryEntry;
  vector?: readonly number[];
}

/** Returns a new entry for the list. Throws a UsageError for an invalid one. */
function listedEntry(given: NewEntry): ListedEntry {
  const { namespace, entry, vector } = checkedEntry(given);
  return { namespace, entry, ...defined({ vector }) };
}

/** Returns the list with an added entry, which replaces one with the same key and namespace. */
function withEntry(list: readonly ListedEntry[], added: ListedEntry): ListedEntry[] {
  return [...list.filter(({ namespace, entry }) => namespace !== added.namespace || entry.key !== added.entry.key), added];
}

/** Returns the list without the forgotten entries. Throws a UsageError without a namespace. */
function withoutEntries(list: readonly ListedEntry[], what: ForgottenEntries): ListedEntry[] {
  requireNamespace(what.namespace);
  return list.filter(({ namespace, entry }) => namespace !== what.namespace || !isForgotten(entry, what));
}

function isForgotten(entry: MemoryEntry, { key, source, timestamp }: ForgottenEntries): boolean {
  if (key !== undefined && entry.key !== key) return false;
  if (timestamp !== undefined && entry.timestamp !== timestamp) return false;
  return source === undefined || (entry.source?.runId === source.runId && entry.source.offset === source.offset);
}

/** Returns the list without the entries of namespaces that begin with a text. Throws a UsageError for an empty one. */
function withoutNamespaces(list: readonly ListedEntry[], prefix: string): ListedEntry[] {
  requirePrefix(prefix);
  return list.filter(({ namespace }) => !namespace.startsWith(prefix));
}

/** Returns the namespaces that begin with a text, sorted. Throws a UsageError for an empty one. */
function namespacesIn(list: readonly ListedEntry[], prefix: string): string[] {
  requirePrefix(prefix);
  const found = list.map(({ namespace }) => namespace).filter((namespace) => namespace.startsWith(prefix));
  return [...new Set(found)].toSorted();
}

/** Returns the entries that match a query, best first. Throws a UsageError for a query without a namespace, and for an invalid vector. */
function findEntries(list: readonly ListedEntry[], given: RecallQuery): FoundEntry[] {
  const { namespace, text, words, vector, wanted } = checkedQuery(given);
  const searched = list.filter((one) => one.namespace === namespace).toReversed();
  const texts = searched.map(({ entry }) => `${foldedText(entry.key)} ${foldedValue(entry.value)}`);
  const shares = wordShares(texts, words);
  return searched
    .map((one, index) => ({
      ...one,
      score: textScore(one.entry, text) || weakScore({ words: shares[index] ?? 0, cosine: meaning(one, vector) }),
    }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, wanted)
    .map(({ entry, score }) => ({ ...structuredClone(entry), score }));
}

/** Returns a page of the entries of a namespace. Throws a UsageError for an invalid limit or cursor. */
function listEntries(list: readonly ListedEntry[], { namespace, cursor, limit }: Parameters<MemoryStore['list']>[0]): MemoryPage {
  requireNamespace(namespace);
  const after = keyBefore(cursor);
  const size = pageSize(limit);
  const entries = list
    .filter((one) => one.namespace === namespace && compareKeys(one.entry.key, after) > 0)
    .map(({ entry }) => structuredClone(entry))
    .toSorted((one, other) => compareKeys(one.key, other.key));
  return pageOf(entries, size);
}

function meaning({ vector }: ListedEntry, asked: readonly number[] | undefined): number {
  return vector === undefined || asked === undefined ? 0 : cosineOf(vector, asked);
}
