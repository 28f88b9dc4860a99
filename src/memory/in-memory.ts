import { findEntries, newEntry, withEntry, withoutScope } from './entries.ts';
import type { MemoryBackend, MemoryEntry } from './memory-backend.ts';

/** Creates a memory that lasts as long as the process, for tests. */
export function inMemory(): MemoryBackend {
  let entries: MemoryEntry[] = [];
  return {
    store: async (key, value, metadata = {}) => {
      const entry = newEntry(key, value, metadata);
      entries = withEntry(entries, entry);
      return structuredClone(entry);
    },
    retrieve: async (query, options) => findEntries(entries, query, options),
    clear: async (scope) => {
      const before = entries.length;
      entries = withoutScope(entries, scope);
      return before - entries.length;
    },
  };
}
