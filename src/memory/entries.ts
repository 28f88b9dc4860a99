import { UsageError } from '../core/domain/errors/error.ts';
import type { JsonObject, JsonValue } from '../core/domain/json/json.ts';
import type { FoundEntry, MemoryEntry, RetrieveOptions } from './memory-backend.ts';

const DEFAULT_TOP_K = 5;

/** Returns a new entry. Throws a UsageError for an empty key. */
export function newEntry(key: string, value: JsonValue, metadata: JsonObject): MemoryEntry {
  if (key === '') throw new UsageError('Memory key must not be empty');
  // A copy: what the caller changes later is not stored.
  return { ...(JSON.parse(JSON.stringify({ key, value, metadata })) as Omit<MemoryEntry, 'timestamp'>), timestamp: Date.now() / 1_000 };
}

/** Returns the entries, the oldest first, with one more in place of the one with the same key and scope. */
export function withEntry(entries: readonly MemoryEntry[], entry: MemoryEntry): MemoryEntry[] {
  return [...entries.filter((one) => one.key !== entry.key || scopeOf(one) !== scopeOf(entry)), entry];
}

/** Returns the entries that stay when a scope is cleared; none without a scope. */
export function withoutScope(entries: readonly MemoryEntry[], scope: string | undefined): MemoryEntry[] {
  return scope === undefined ? [] : entries.filter((entry) => scopeOf(entry) !== scope);
}

/** Returns the entries that fit a query, the best first. `entries` has the oldest first. */
export function findEntries(entries: readonly MemoryEntry[], query: string, options: RetrieveOptions = {}): FoundEntry[] {
  const { topK = DEFAULT_TOP_K, scope } = options;
  return entries
    .toReversed()
    .filter((entry) => scope === undefined || scopeOf(entry) === scope)
    .map((entry) => ({ entry, score: scoreOf(entry, query.toLowerCase()) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, Math.max(0, topK))
    .map(({ entry, score }) => ({ ...structuredClone(entry), score }));
}

/** Returns the scope of an entry; undefined if it belongs to none. */
function scopeOf({ metadata }: MemoryEntry): string | undefined {
  return typeof metadata['scope'] === 'string' ? metadata['scope'] : undefined;
}

function scoreOf({ key, value }: MemoryEntry, query: string): number {
  const name = key.toLowerCase();
  if (name === query) return 1;
  if (name.includes(query)) return 0.7;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.toLowerCase().includes(query) ? 0.4 : 0;
}
