import { UsageError } from '../../../core/domain/errors.ts';
import { memoryOwner } from '../../../memory/memory-store.ts';
import type { CommandIo } from '../../program/command.ts';
import { actingPrincipal } from '../../with-client.ts';
import { memoryIn, type MemoryFlags, namespaceOf } from './memory-file.ts';

/** The options of `longhaul memory forget`. */
export interface ForgetMemoryFlags extends MemoryFlags {
  key?: string;
}

/** Removes one entry of a memory, those of an agent or a scope, or all of a user. Needs no server. */
export async function forgetMemory({ output, terminal }: CommandIo, flags: ForgetMemoryFlags): Promise<number> {
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
      : await store.forget({ namespace, ...(key === undefined ? {} : { key }) });
  if (output.json) output.printJson({ removed });
  else output.print(removed === 1 ? '1 entry is removed' : `${removed} entries are removed`);
  return 0;
}
