import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { ForgottenEntries, MemoryEntry, MemoryPage, MemorySource, NewEntry, RecallQuery } from './memory-store.ts';
import { directionOf, foldedText, queryWords } from './search.ts';

/** The bounds of what a memory stores and returns. */
const MEMORY_BOUNDS = {
  /** Characters of a key. */
  keyChars: 200,
  /** Bytes of a namespace in UTF-8. */
  namespaceBytes: 1_500,
  /** Bytes of a value as JSON. */
  valueBytes: 64_000,
  /** Bytes of the metadata as JSON. */
  metadataBytes: 16_000,
  /** Entries of a page. */
  pageEntries: 100,
} as const;

/** A new entry that is in bounds, with copies of what it was given. */
export interface CheckedEntry {
  namespace: string;
  entry: MemoryEntry;
  /** Its vector, of length 1; undefined without one, and for one without a length. */
  vector: number[] | undefined;
}

/** Returns a new entry with copies of its parts. Throws a UsageError for an invalid namespace, key, value, metadata or vector. */
export function checkedEntry({ namespace, key, value, metadata = {}, source, vector }: NewEntry): CheckedEntry {
  requireNamespace(namespace);
  requireKey(key);
  const bytes = jsonBytes(value);
  if (bytes === 0) throw new UsageError(`The value of "${key}" is not JSON: store null, a text, a number, a list or an object`);
  requireAtMost(bytes, MEMORY_BOUNDS.valueBytes, `The value of "${key}" has`, 'bytes of JSON');
  requireAtMost(jsonBytes(metadata), MEMORY_BOUNDS.metadataBytes, `The metadata of "${key}" has`, 'bytes of JSON');
  const direction = vector === undefined ? undefined : directionOf(`The vector of "${key}"`, vector);
  const copied = JSON.parse(JSON.stringify({ key, value, metadata })) as Pick<MemoryEntry, 'key' | 'value' | 'metadata'>;
  const entry = { ...copied, timestamp: Date.now() / 1_000, ...(source === undefined ? {} : { source: sourceOf(source) }) };
  return { namespace, entry, vector: direction };
}

/** Returns a source with its members in one order, so that stores can compare it as a text. */
function sourceOf({ runId, offset }: MemorySource): MemorySource {
  return { runId, ...defined({ offset }) };
}

/** Throws a UsageError unless a text is the name of a namespace. */
export function requireNamespace(namespace: string): void {
  if (typeof namespace !== 'string')
    throw new UsageError(
      `The namespace of a memory is ${JSON.stringify(namespace) ?? 'missing'}: write the namespace of one owner, as memoryNamespace makes it`,
    );
  requireStorable('The namespace', namespace);
  requireAtMost(Buffer.byteLength(namespace), MEMORY_BOUNDS.namespaceBytes, 'The namespace of a memory has', 'bytes');
}

/** Returns the size of a page: from 1 to 100, which is the default. Throws a UsageError for another size. */
export function pageSize(limit: number = MEMORY_BOUNDS.pageEntries): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MEMORY_BOUNDS.pageEntries) return limit;
  throw new UsageError(`A page of ${limit} entries is not to be had: ask for 1 to ${MEMORY_BOUNDS.pageEntries}, and for the next page`);
}

/** Throws a UsageError unless a text is a valid namespace prefix. An empty one would match all owners. */
export function requirePrefix(prefix: string): void {
  requireNamespace(prefix);
  if (prefix === '') throw new UsageError('The prefix of namespaces is empty, which all of them begin with: write the beginning of some');
}

function requireKey(key: string): void {
  if (key === '') throw new UsageError('Memory key must not be empty');
  requireStorable(`The key ${JSON.stringify(key)}`, key);
  requireAtMost(Array.from(key).length, MEMORY_BOUNDS.keyChars, `The key "${key.slice(0, 40)}…" has`, 'characters');
}

/** A text with other characters would be another one after it is stored, or is refused by the database. */
function requireStorable(what: string, text: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return;
  throw new UsageError(`${what} has a zero character or half of a character: leave it out`);
}

function requireAtMost(size: number, most: number, what: string, unit: string): void {
  if (size > most) throw new UsageError(`${what} ${size} ${unit}, over ${most}: make it shorter`);
}

/** The number of entries that a query returns if it does not say. */
const DEFAULT_TOP_K = 5;

/** A checked query, in the form in which stores search. */
export interface CheckedQuery {
  namespace: string;
  /** The folded text. */
  text: string;
  /** The different words of the text that count. */
  words: string[];
  /** The vector, of length 1; undefined without one, and for one without a length. */
  vector: number[] | undefined;
  /** The most entries to return: Infinity for all. */
  wanted: number;
}

/** Returns a query as stores search for it. Throws a UsageError for a query without a namespace, and for a vector out of bounds. */
export function checkedQuery({ namespace, text, topK = DEFAULT_TOP_K, vector }: RecallQuery): CheckedQuery {
  requireNamespace(namespace);
  const folded = foldedText(text);
  return {
    namespace,
    text: folded,
    words: queryWords(folded),
    vector: vector === undefined ? undefined : directionOf('The vector of the query', vector),
    wanted: Number.isNaN(topK) ? 0 : Math.max(0, Math.floor(topK)),
  };
}

/** Returns the page of a list that begins with its entries, and with one more entry if there is a next page. */
export function pageOf(entries: MemoryPage['entries'], limit: number): MemoryPage {
  const page = entries.slice(0, limit);
  const last = page.at(-1);
  return entries.length > limit && last !== undefined
    ? { entries: page, next: Buffer.from(last.key).toString('base64url') }
    : { entries: page };
}

/** Returns the key after which a cursor's page begins; empty for the first page. Throws a UsageError for an invalid cursor. */
export function keyBefore(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const key = Buffer.from(cursor, 'base64url').toString();
  if (key !== '' && Buffer.from(key).toString('base64url') === cursor) return key;
  throw new UsageError(`"${cursor}" is no cursor of a memory: use the "next" of a page unchanged`);
}

/** Compares keys by their characters, as databases do that compare bytes of UTF-8. */
export function compareKeys(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** The columns of an entry in a database. */
export const ENTRY_COLUMNS = 'key, value, metadata, timestamp, source';

/** A row with these columns. Value, metadata and source are JSON texts, so that a database keeps them as they are. */
export interface EntryRow {
  key: string;
  value: string;
  metadata: string;
  timestamp: number;
  source: string | null;
}

export function rowOf({ key, value, metadata, timestamp, source }: MemoryEntry): EntryRow {
  return {
    key,
    value: JSON.stringify(value),
    metadata: JSON.stringify(metadata),
    timestamp,
    source: source === undefined ? null : sourceText(source),
  };
}

/** Returns a source as the rows have it: the same text for the same source. */
function sourceText(source: MemorySource): string {
  return JSON.stringify(sourceOf(source));
}

/** Returns the columns and values of the rows to forget, apart from their namespace. */
export function forgottenRows({ key, source, timestamp }: ForgottenEntries): ['key' | 'source' | 'timestamp', string | number][] {
  return [
    ...(key === undefined ? [] : [['key', key] as ['key', string]]),
    ...(source === undefined ? [] : [['source', sourceText(source)] as ['source', string]]),
    ...(timestamp === undefined ? [] : [['timestamp', timestamp] as ['timestamp', number]]),
  ];
}

export function entryOf({ key, value, metadata, timestamp, source }: EntryRow): MemoryEntry {
  return {
    key,
    value: JSON.parse(value) as JsonValue,
    metadata: JSON.parse(metadata) as JsonObject,
    timestamp,
    ...(source === null ? {} : { source: JSON.parse(source) as MemorySource }),
  };
}

/** Returns a function that opens something when it is first called, and again if that has failed. */
export function openedOnce<Opened>(open: () => Promise<Opened>): () => Promise<Opened> {
  let opened: Promise<Opened> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
