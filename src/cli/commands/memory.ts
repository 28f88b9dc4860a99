import { UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { oneLine, printableLine } from '../../core/domain/text.ts';
import { isoTime } from '../../core/domain/time.ts';
import { fileMemory } from '../../memory/file-memory.ts';
import { type MemoryEntry, memoryNamespace, memoryOwner, type MemoryStore } from '../../memory/memory-store.ts';
import { sqliteMemory } from '../../memory/sqlite-memory.ts';
import { actingPrincipal, printList } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { requireFile } from '../input-files.ts';
import { type EntryColumn, entryLines, pointInTime } from '../output.ts';
import type { FORGET_MEMORY, LIST_MEMORY } from '../run-commands.ts';

/** Bytes of a value that the table shows; `--json` shows all. */
const VALUE_BYTES = 100;

/** Lists the entries of a memory by key: a table, or one JSON object per line. Needs no server. */
export async function listMemory(io: CommandIo, flags: FlagsOf<typeof LIST_MEMORY>): Promise<number> {
  const namespace = namespaceOf(flags, io.terminal.env);
  if (namespace === undefined) throw new UsageError('Whose entries? Write --agent <name>, or --scope <name> for those of programs');
  return printList(io, allEntries(memoryIn(flags.memory), namespace), {
    json: (entry) => ({ ...entry, timestamp: storedAt(entry) }),
    lines: (entries) => entryLines(entries, COLUMNS, io.output),
    none: 'No entries.',
  });
}

const COLUMNS: readonly EntryColumn<MemoryEntry>[] = [
  { title: 'KEY', of: ({ key }) => key },
  { title: 'STORED', of: (entry) => pointInTime(storedAt(entry)) },
  { title: 'VALUE', of: ({ value }) => oneLine(printableLine(typeof value === 'string' ? value : JSON.stringify(value)), VALUE_BYTES) },
];

/** Returns the time at which an entry was stored. ISO 8601. */
function storedAt({ timestamp }: Pick<MemoryEntry, 'timestamp'>): string {
  return isoTime(Math.round(timestamp * 1_000));
}

async function* allEntries(memory: MemoryStore, namespace: string): AsyncGenerator<MemoryEntry> {
  let cursor: string | undefined;
  do {
    const { entries, next } = await memory.list({ namespace, ...defined({ cursor }) });
    yield* entries;
    cursor = next;
  } while (cursor !== undefined);
}

/** Removes one entry of a memory, all entries of an agent or a scope, or all of a user. Needs no server. */
export async function forgetMemory({ output, terminal }: CommandIo, flags: FlagsOf<typeof FORGET_MEMORY>): Promise<number> {
  const { memory, key } = flags;
  const namespace = namespaceOf(flags, terminal.env);
  const user = actingPrincipal(flags, terminal.env);
  if (namespace === undefined && key !== undefined) throw new UsageError('A key belongs to a memory: write --agent, or --scope, too');
  if (namespace === undefined && user?.user === undefined)
    throw new UsageError('Whose entries? Write --user, and --tenant if the user has one; or --agent or --scope');
  const store = memoryIn(memory);
  const removed =
    namespace === undefined
      ? await store.forgetNamespaces({ prefix: memoryOwner(user ?? {}) })
      : await store.forget({ namespace, ...defined({ key }) });
  return output.result({ removed }, removed === 1 ? '1 entry is removed' : `${removed} entries are removed`);
}

/** Opens a file memory (`.json`) or a SQLite memory (other names). Throws a UsageError for a missing file, which would be created. */
export function memoryIn(file: string): MemoryStore {
  requireFile(file, '--memory names');
  return file.endsWith('.json') ? fileMemory({ file }) : sqliteMemory({ file });
}

/** Returns the namespace that the options name; undefined if they name neither an agent nor a scope. */
export function namespaceOf({ agent, scope, ...flags }: FlagsOf<typeof LIST_MEMORY>, env: NodeJS.ProcessEnv): string | undefined {
  if (agent === undefined && scope === undefined) return undefined;
  if (agent !== undefined && scope !== undefined)
    throw new UsageError('An agent has no scopes: write --agent, or --scope for steps of programs');
  return memoryNamespace({ principal: actingPrincipal(flags, env), agent, scope });
}
