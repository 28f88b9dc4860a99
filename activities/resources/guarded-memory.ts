import type { MemoryEntry, MemoryStore, NewEntry } from '../../src/memory/memory-store.ts';
import type { RunWrite } from './late-writes.ts';

/** Writes for the run of the current activity, and undoes the write if the run is removed meanwhile. */
export type Guarded = <Value>(work: RunWrite<Value>) => Promise<Value>;

/** Entries of which one is the witness: more than one may have its key in another case. */
const LOOKED_AT = 10;

/** Returns a memory that keeps nothing that was written late for a user who was forgotten meanwhile. */
export function guardedMemory(memory: MemoryStore, guarded: Guarded): MemoryStore {
  return {
    remember: (entry) => {
      let witness: MemoryEntry | undefined;
      let stored: MemoryEntry | undefined;
      return guarded({
        write: async () => {
          witness = await witnessOf(memory, entry);
          stored = await memory.remember(entry);
          return stored;
        },
        undo: async (isGone) => {
          if (witness !== undefined && (await isThere(memory, entry.namespace, witness))) return;
          await forgetWrite(memory, entry, { stored, isGone });
        },
      });
    },
    recall: (query) => memory.recall(query),
    forget: (what) => memory.forget(what),
    forgetNamespaces: (what) => memory.forgetNamespaces(what),
    list: (what) => memory.list(what),
  };
}

/**
 * Returns another entry of the namespace, from before the write. Forgetting the user removes it, too: if it is still there when the
 * run is gone, the run was deleted alone, which leaves the memory as it is. Undefined if there is none.
 */
async function witnessOf(memory: MemoryStore, { namespace, key }: NewEntry): Promise<MemoryEntry | undefined> {
  try {
    const { entries } = await memory.list({ namespace, limit: 2 });
    return entries.find((one) => one.key !== key);
  } catch {
    // A memory that cannot be read refuses no write.
    return undefined;
  }
}

async function isThere(memory: MemoryStore, namespace: string, { key, timestamp }: MemoryEntry): Promise<boolean> {
  const found = await memory.recall({ namespace, text: key, topK: LOOKED_AT });
  return found.some((one) => one.key === key && one.timestamp === timestamp);
}

/** Removes what a write has stored, and no entry that another run has stored in its place. */
async function forgetWrite(
  memory: MemoryStore,
  { namespace, key, source }: NewEntry,
  { stored, isGone }: { stored: MemoryEntry | undefined; isGone: boolean },
): Promise<void> {
  // A write that failed may have stored the entry all the same, at a time that is not known. A newer run of that id has the same source.
  if (source === undefined || (stored === undefined && !isGone)) return;
  await memory.forget({ namespace, key, source, ...(stored === undefined ? {} : { timestamp: stored.timestamp }) });
}
