import { findEntries, type ListedEntry, listedEntry, listEntries, withEntry, withoutEntries, withoutNamespaces } from './entries.ts';
import type { MemoryStore } from './memory-store.ts';

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
    list: async (what) => listEntries(list, what),
  };
}
