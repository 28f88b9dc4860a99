import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewEntry } from '../src/memory/memory-store.ts';
import { insertEntry, openDatabase, sqliteMemory } from '../src/memory/sqlite-memory.ts';
import { checkedEntry } from '../src/memory/stored-entries.ts';
import { percentile, rounded } from './figures/statistics.ts';
import type { MemoryOptions } from './options.ts';
import { uniqueText } from './script/unique-text.ts';

const OWN = 'own';
const OTHER_NAMESPACES = 100;
const VALUE_CHARS = 300;
const QUERY_WORDS = 20;
const CALLS = 200;
/** Entries that are stored in one transaction before the measurement: one by one, each would wait for the disk. */
const BATCH = 1_000;

/** The figures of `memory`. */
interface MemoryFigures {
  store: 'sqlite';
  entries: number;
  /** Entries of other namespaces in the same file. */
  otherEntries: number;
  dimensions: number;
  recallP50Ms: number;
  recallP95Ms: number;
  /** Time of the processor for one recall, which a busy machine does not lengthen as much. */
  recallCpuMs: number;
  rememberP50Ms: number;
  rememberP95Ms: number;
  fileBytes: number;
}

/** Measures a memory in a SQLite file: queries of 20 words in one namespace, and the storing of values. */
export async function measureMemory(
  { entries, otherEntries, dimensions }: MemoryOptions,
  say: (line: string) => void,
): Promise<MemoryFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-bench-memory-'));
  const file = join(folder, 'memory.db');
  try {
    await fill(file, { entries, every: otherEntries / entries, dimensions, say });
    const memory = sqliteMemory({ file });
    const remembers = await times((call) => memory.remember(entryOf(OWN, call, dimensions)));
    const before = process.cpuUsage();
    const recalls = await times((call) => memory.recall({ namespace: OWN, text: question(call), ...vectorOf(call, dimensions) }));
    const { user, system } = process.cpuUsage(before);
    return {
      store: 'sqlite',
      entries,
      otherEntries,
      dimensions,
      recallP50Ms: rounded(percentile(recalls, 50), 2),
      recallP95Ms: rounded(percentile(recalls, 95), 2),
      recallCpuMs: rounded((user + system) / 1_000 / CALLS, 2),
      rememberP50Ms: rounded(percentile(remembers, 50), 2),
      rememberP95Ms: rounded(percentile(remembers, 95), 2),
      fileBytes: (await stat(file)).size,
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Fills a file: entries of one namespace, and after each of them some of others, as runs of many users store them. */
async function fill(
  file: string,
  { entries, every, dimensions, say }: { entries: number; every: number; dimensions: number; say: (line: string) => void },
): Promise<void> {
  const database = await openDatabase(file, { isPlain: false });
  let others = 0;
  for (let from = 0; from < entries; from += BATCH) {
    await database.write(() => {
      for (let index = from; index < Math.min(from + BATCH, entries); index += 1) {
        insertEntry(database, checkedEntry(entryOf(OWN, index, dimensions)));
        for (; others < (index + 1) * every; others += 1) {
          insertEntry(database, checkedEntry(entryOf(`other-${others % OTHER_NAMESPACES}`, entries + others, dimensions)));
        }
      }
    });
    say(`stored ${Math.min(from + BATCH, entries)} of ${entries} entries, and ${others} of other namespaces`);
  }
}

function entryOf(namespace: string, index: number, dimensions: number): NewEntry {
  return { namespace, key: `entry-${index}`, value: uniqueText(index, VALUE_CHARS), ...vectorOf(index, dimensions) };
}

function question(call: number): string {
  return uniqueText(1_000_000 + call, VALUE_CHARS)
    .split(' ')
    .slice(0, QUERY_WORDS)
    .join(' ');
}

function vectorOf(seed: number, dimensions: number): { vector?: number[] } {
  return dimensions === 0 ? {} : { vector: Array.from({ length: dimensions }, (_, index) => Math.sin(seed * 31 + index * 17)) };
}

async function times(work: (call: number) => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const start = performance.now();
    await work(call);
    taken.push(performance.now() - start);
  }
  return taken;
}
