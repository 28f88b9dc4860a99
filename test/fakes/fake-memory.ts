import type { FoundEntry, MemoryEntry, MemoryStore, NewEntry, RecallQuery } from '../../src/memory/memory-store.ts';

/** A memory of a test, with the calls that it got. */
export interface FakeMemory extends MemoryStore {
  readonly asked: RecallQuery[];
  readonly stored: NewEntry[];
}

/** Creates a memory in the process. An entry fits a query if it has one of its words. */
export function fakeMemory(entries: readonly NewEntry[] = [], now: () => number = () => 1_700_000_000): FakeMemory {
  const namespaces = new Map<string, Map<string, MemoryEntry>>();
  const of = (namespace: string): Map<string, MemoryEntry> => {
    const known = namespaces.get(namespace) ?? new Map<string, MemoryEntry>();
    namespaces.set(namespace, known);
    return known;
  };
  const put = ({ namespace, key, value, metadata = {}, source }: NewEntry): MemoryEntry => {
    const entry = { key, value, metadata, timestamp: now(), ...(source === undefined ? {} : { source }) };
    of(namespace).set(key, structuredClone(entry));
    return entry;
  };
  const asked: RecallQuery[] = [];
  const stored: NewEntry[] = [];
  for (const entry of entries) put(entry);
  return {
    asked,
    stored,
    remember: async (entry) => {
      stored.push(entry);
      return put(entry);
    },
    recall: async (query) => {
      asked.push(query);
      const { namespace, text, topK = 5 } = query;
      return [...of(namespace).values()]
        .map((entry): FoundEntry => ({ ...structuredClone(entry), score: scoreOf(entry, text) }))
        .filter(({ score }) => score > 0)
        .toSorted((one, other) => other.score - one.score)
        .slice(0, topK);
    },
    forget: async ({ namespace, key, source, timestamp }) => {
      const isMeant = (entry: MemoryEntry): boolean =>
        (key === undefined || entry.key === key) &&
        (timestamp === undefined || entry.timestamp === timestamp) &&
        (source === undefined || JSON.stringify(entry.source) === JSON.stringify(source));
      return remove(of(namespace), isMeant);
    },
    forgetNamespaces: async ({ prefix }) =>
      [...namespaces].reduce((count, [namespace, one]) => count + (namespace.startsWith(prefix) ? remove(one, () => true) : 0), 0),
    listNamespaces: async ({ prefix }) =>
      [...namespaces].flatMap(([name, { size }]) => (size > 0 && name.startsWith(prefix) ? [name] : [])).toSorted(),
    list: async ({ namespace }) => ({ entries: [...of(namespace).values()].toSorted((one, other) => (one.key < other.key ? -1 : 1)) }),
  };
}

function remove(entries: Map<string, MemoryEntry>, isMeant: (entry: MemoryEntry) => boolean): number {
  const meant = [...entries.values()].filter(isMeant);
  for (const { key } of meant) entries.delete(key);
  return meant.length;
}

function scoreOf({ key, value }: MemoryEntry, query: string): number {
  const text = `${key} ${JSON.stringify(value)}`.toLowerCase();
  const words = query
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word !== '');
  return words.filter((word) => text.includes(word)).length;
}
