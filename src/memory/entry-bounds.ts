import { UsageError } from '../core/domain/errors.ts';
import { jsonBytes } from '../core/domain/byte-budgets.ts';
import type { MemoryEntry, MemorySource, NewEntry } from './memory-store.ts';
import { directionOf } from './search/vector.ts';

/** The bounds of what a memory stores and returns. */
export const MEMORY_BOUNDS = {
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

/** Returns a new entry, and a copy of what it was given. Throws a UsageError for a namespace, key, value, metadata or vector out of bounds. */
export function checkedEntry({ namespace, key, value, metadata = {}, source, vector }: NewEntry): CheckedEntry {
  requireNamespace(namespace);
  requireKey(key);
  const bytes = jsonBytes(value);
  if (bytes === 0) throw new UsageError(`The value of "${key}" is no JSON: store null, a text, a number, a list or an object`);
  requireAtMost(bytes, MEMORY_BOUNDS.valueBytes, `The value of "${key}" has`, 'bytes of JSON');
  requireAtMost(jsonBytes(metadata), MEMORY_BOUNDS.metadataBytes, `The metadata of "${key}" has`, 'bytes of JSON');
  const direction = vector === undefined ? undefined : directionOf(`The vector of "${key}"`, vector);
  const copied = JSON.parse(JSON.stringify({ key, value, metadata })) as Pick<MemoryEntry, 'key' | 'value' | 'metadata'>;
  const entry = { ...copied, timestamp: Date.now() / 1_000, ...(source === undefined ? {} : { source: sourceOf(source) }) };
  return { namespace, entry, vector: direction };
}

/** Returns a source with its members in one order, so that stores can compare it as a text. */
export function sourceOf({ runId, offset }: MemorySource): MemorySource {
  return { runId, ...(offset === undefined ? {} : { offset }) };
}

/** Throws a UsageError unless a text is the name of a namespace. */
export function requireNamespace(namespace: string): void {
  if (typeof namespace !== 'string')
    throw new UsageError(
      `The namespace of a memory is ${JSON.stringify(namespace) ?? 'missing'}: write that of one owner, as memoryNamespace makes it`,
    );
  requireStorable('The namespace', namespace);
  requireAtMost(Buffer.byteLength(namespace), MEMORY_BOUNDS.namespaceBytes, 'The namespace of a memory has', 'bytes');
}

/** Returns the size of a page: from 1 to 100, which is the default. Throws a UsageError for another size. */
export function pageSize(limit: number = MEMORY_BOUNDS.pageEntries): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MEMORY_BOUNDS.pageEntries) return limit;
  throw new UsageError(`A page of ${limit} entries is not to be had: ask for 1 to ${MEMORY_BOUNDS.pageEntries}, and for the next page`);
}

/** Throws a UsageError unless a text is the beginning of namespaces. An empty one would be that of all owners. */
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
