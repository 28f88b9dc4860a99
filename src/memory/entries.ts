import { checkedEntry, pageSize, requireForgettable, requireNamespace, requirePrefix, requireVector } from './entry-bounds.ts';
import { compareKeys, keyBefore, pageOf } from './key-cursor.ts';
import type { FoundEntry, MemoryEntry, MemoryPage, MemoryStore, NewEntry, RecallQuery } from './memory-store.ts';
import { cosineOf, textScore, wantedEntries, weakScore } from './ranking.ts';
import { foldedText, foldedValue, queryWords } from './searched-text.ts';
import { wordShares } from './word-shares.ts';

/** An entry in a list of all entries of a memory, the oldest first. */
export interface ListedEntry {
  namespace: string;
  entry: MemoryEntry;
  vector?: readonly number[];
}

/** Returns a new entry for the list. Throws a UsageError for one out of bounds. */
export function listedEntry(given: NewEntry): ListedEntry {
  const { namespace, vector } = given;
  return { namespace, entry: checkedEntry(given), ...(vector === undefined ? {} : { vector: [...vector] }) };
}

/** Returns the list with one more entry in place of the one with the same key and namespace. */
export function withEntry(list: readonly ListedEntry[], added: ListedEntry): ListedEntry[] {
  return [...list.filter(({ namespace, entry }) => namespace !== added.namespace || entry.key !== added.entry.key), added];
}

/** Returns the list without those that are forgotten. Throws a UsageError for a key without a namespace. */
export function withoutEntries(list: readonly ListedEntry[], what: Parameters<MemoryStore['forget']>[0]): ListedEntry[] {
  requireForgettable(what);
  const { namespace, key } = what;
  if (namespace === undefined) return [];
  return list.filter((one) => one.namespace !== namespace || (key !== undefined && one.entry.key !== key));
}

/** Returns the list without the entries of namespaces that begin with a text. Throws a UsageError for an empty one. */
export function withoutNamespaces(list: readonly ListedEntry[], prefix: string): ListedEntry[] {
  requirePrefix(prefix);
  return list.filter(({ namespace }) => !namespace.startsWith(prefix));
}

/** Returns the entries that fit a query, the best first. */
export function findEntries(list: readonly ListedEntry[], { namespace, text, topK, vector }: RecallQuery): FoundEntry[] {
  if (namespace !== undefined) requireNamespace(namespace);
  if (vector !== undefined) requireVector('The vector of the query', vector);
  const searched = list.filter((one) => namespace === undefined || one.namespace === namespace).toReversed();
  const query = foldedText(text);
  const texts = searched.map(({ entry }) => `${foldedText(entry.key)} ${foldedValue(entry.value)}`);
  const shares = wordShares(texts, queryWords(query));
  return searched
    .map((one, index) => ({
      ...one,
      score: textScore(one.entry, query) || weakScore({ words: shares[index] ?? 0, cosine: meaning(one, vector) }),
    }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, wantedEntries(topK))
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
