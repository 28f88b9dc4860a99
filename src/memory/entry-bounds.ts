import { UsageError } from '../core/domain/errors/error.ts';
import { jsonBytes } from '../core/domain/json/payload-limit.ts';
import type { MemoryEntry, NewEntry } from './memory-store.ts';

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
  /** Numbers of a vector. */
  dimensions: 16_000,
  /** Entries of a page. */
  pageEntries: 100,
} as const;

/** Returns a new entry, and a copy of what it was given. Throws a UsageError for a namespace, key, value, metadata or vector out of bounds. */
export function checkedEntry({ namespace, key, value, metadata = {}, source, vector }: NewEntry): MemoryEntry {
  requireNamespace(namespace);
  requireKey(key);
  const bytes = jsonBytes(value);
  if (bytes === 0) throw new UsageError(`The value of "${key}" is no JSON: store null, a text, a number, a list or an object`);
  requireAtMost(bytes, MEMORY_BOUNDS.valueBytes, `The value of "${key}" has`, 'bytes of JSON');
  requireAtMost(jsonBytes(metadata), MEMORY_BOUNDS.metadataBytes, `The metadata of "${key}" has`, 'bytes of JSON');
  if (vector !== undefined) requireVector(`The vector of "${key}"`, vector);
  const copied = JSON.parse(JSON.stringify({ key, value, metadata })) as Pick<MemoryEntry, 'key' | 'value' | 'metadata'>;
  return { ...copied, timestamp: Date.now() / 1_000, ...(source === undefined ? {} : { source: { ...source } }) };
}

/** Throws a UsageError unless a text is the name of a namespace. */
export function requireNamespace(namespace: string): void {
  if (typeof namespace !== 'string') throw new UsageError(`The namespace of a memory is ${JSON.stringify(namespace)}: write a text`);
  requireStorable('The namespace', namespace);
  requireAtMost(Buffer.byteLength(namespace), MEMORY_BOUNDS.namespaceBytes, 'The namespace of a memory has', 'bytes');
}

/** Throws a UsageError unless a vector has 1 to 16,000 finite numbers. */
export function requireVector(what: string, vector: readonly number[]): void {
  if (vector.length === 0 || !vector.every(Number.isFinite)) throw new UsageError(`${what} is no list of finite numbers`);
  requireAtMost(vector.length, MEMORY_BOUNDS.dimensions, `${what} has`, 'numbers');
}

/** Returns the size of a page: from 1 to 100, which is the default. Throws a UsageError for another size. */
export function pageSize(limit: number = MEMORY_BOUNDS.pageEntries): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MEMORY_BOUNDS.pageEntries) return limit;
  throw new UsageError(`A page of ${limit} entries is not to be had: ask for 1 to ${MEMORY_BOUNDS.pageEntries}, and for the next page`);
}

/** Throws a UsageError for a key without a namespace: it would be unclear whose entry to remove. */
export function requireForgettable({ namespace, key }: { namespace?: string; key?: string }): void {
  if (namespace !== undefined) requireNamespace(namespace);
  if (key !== undefined && namespace === undefined) throw new UsageError(`The key "${key}" has no namespace: write the one that it is in`);
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
