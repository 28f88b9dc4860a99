import { oneLine, printableLine } from '../../../core/domain/text.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import type { MemoryEntry, MemoryStore } from '../../../memory/memory-store.ts';
import type { CommandIo } from '../../program/command.ts';
import { pointInTime } from '../../render/point-in-time.ts';
import { tableLines } from '../../render/table-lines.ts';
import { memoryIn, type MemoryFlags, namespaceOf } from './memory-file.ts';
import { isoTime } from '../../../core/domain/time.ts';

/** Bytes of a value that the table shows; `--json` shows all. */
const VALUE_BYTES = 100;

/** Lists the entries of a memory by their keys: a table, or one JSON object per line. Needs no server. */
export async function listMemory({ output, terminal }: CommandIo, flags: MemoryFlags): Promise<number> {
  const namespace = namespaceOf(flags, terminal.env);
  if (namespace === undefined) throw new UsageError('Whose entries? Write --agent <name>, or --scope <name> for those of programs');
  const entries: MemoryEntry[] = [];
  for await (const entry of allEntries(memoryIn(flags.memory), namespace)) {
    terminal.signal.throwIfAborted();
    if (output.json) output.printJson({ ...entry, timestamp: storedAt(entry) });
    else entries.push(entry);
  }
  if (output.json) return 0;
  const rows = entries.map(({ key, timestamp, value }) => [
    printableLine(key),
    pointInTime(storedAt({ timestamp })),
    oneLine(printableLine(typeof value === 'string' ? value : JSON.stringify(value)), VALUE_BYTES),
  ]);
  if (rows.length === 0) output.note('No entries.');
  else for (const line of tableLines(['KEY', 'STORED', 'VALUE'], rows, output)) output.print(line);
  return 0;
}

/** Returns the time at which an entry was stored. ISO 8601. */
function storedAt({ timestamp }: Pick<MemoryEntry, 'timestamp'>): string {
  return isoTime(Math.round(timestamp * 1_000));
}

async function* allEntries(memory: MemoryStore, namespace: string): AsyncGenerator<MemoryEntry> {
  let cursor: string | undefined;
  do {
    const { entries, next } = await memory.list({ namespace, ...(cursor === undefined ? {} : { cursor }) });
    yield* entries;
    cursor = next;
  } while (cursor !== undefined);
}
