import { checkedQuery } from './search/checked-query.ts';
import { checkedEntry, pageSize, requireNamespace, requirePrefix } from './entry-bounds.ts';
import { compareKeys, keyBefore, pageOf } from './key-cursor.ts';
import type { FoundEntry, ForgottenEntries, MemoryEntry, MemoryPage, MemoryStore, NewEntry, RecallQuery } from './memory-store.ts';
import { cosineOf, textScore, weakScore } from './search/ranking.ts';
import { foldedText, foldedValue } from './search/searched-text.ts';
import { wordShares } from './search/word-shares.ts';

/** An entry in a list of all entries of a memory, the oldest first. */
export interface ListedEntry {
  namespace: string;
  entry: MemoryEntry;
  vector?: readonly number[];
}

/** Returns a new entry for the list. Throws a UsageError for one out of bounds. */
export function listedEntry(given: NewEntry): ListedEntry {
  const { namespace, entry, vector } = checkedEntry(given);
  return { namespace, entry, ...(vector === undefined ? {} : { vector }) };
}

/** Returns the list with one more entry in place of the one with the same key and namespace. */
export function withEntry(list: readonly ListedEntry[], added: ListedEntry): ListedEntry[] {
  return [...list.filter(({ namespace, entry }) => namespace !== added.namespace || entry.key !== added.entry.key), added];
}

/** Returns the list without the entries that are forgotten. Throws a UsageError without a namespace. */
export function withoutEntries(list: readonly ListedEntry[], what: ForgottenEntries): ListedEntry[] {
  requireNamespace(what.namespace);
  return list.filter(({ namespace, entry }) => namespace !== what.namespace || !isForgotten(entry, what));
}

function isForgotten(entry: MemoryEntry, { key, source, timestamp }: ForgottenEntries): boolean {
  if (key !== undefined && entry.key !== key) return false;
  if (timestamp !== undefined && entry.timestamp !== timestamp) return false;
  return source === undefined || (entry.source?.runId === source.runId && entry.source.offset === source.offset);
}

/** Returns the list without the entries of namespaces that begin with a text. Throws a UsageError for an empty one. */
export function withoutNamespaces(list: readonly ListedEntry[], prefix: string): ListedEntry[] {
  requirePrefix(prefix);
  return list.filter(({ namespace }) => !namespace.startsWith(prefix));
}

/** Returns the entries that fit a query, the best first. Throws a UsageError for a query without a namespace, and for a vector out of bounds. */
export function findEntries(list: readonly ListedEntry[], given: RecallQuery): FoundEntry[] {
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

/** Returns a page of the entries of a namespace. Throws a UsageError for a limit out of bounds and a text that is no cursor. */
export function listEntries(list: readonly ListedEntry[], { namespace, cursor, limit }: Parameters<MemoryStore['list']>[0]): MemoryPage {
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
