import { existsSync } from 'node:fs';
import { UsageError } from '../../../core/domain/errors.ts';
import { fileMemory } from '../../../memory/file-memory.ts';
import { memoryNamespace, type MemoryStore } from '../../../memory/memory-store.ts';
import { sqliteMemory } from '../../../memory/sqlite-memory.ts';
import type { ServerFlags } from '../../program/command.ts';
import { actingPrincipal } from '../../with-client.ts';

/** The options that name a part of a memory. The tenant and the user are those that the command acts for. */
export interface MemoryFlags extends ServerFlags {
  memory: string;
  /** The name of the memory: that of the agent, unless the agent has another. */
  agent?: string;
  /** The scope of steps of programs. */
  scope?: string;
}

/** Opens the memory in a file: a file memory if its name ends in `.json`, and otherwise a SQLite memory. Throws a UsageError if there is no such file: opening it would create one. */
export function memoryIn(file: string): MemoryStore {
  if (!existsSync(file)) throw new UsageError(`--memory names "${file}", which does not exist`);
  return file.endsWith('.json') ? fileMemory({ file }) : sqliteMemory({ file });
}

/** Returns the namespace that the options name; undefined if they name neither an agent nor a scope. */
export function namespaceOf({ agent, scope, ...flags }: MemoryFlags, env: NodeJS.ProcessEnv): string | undefined {
  if (agent === undefined && scope === undefined) return undefined;
  if (agent !== undefined && scope !== undefined)
    throw new UsageError('An agent has no scopes: write --agent, or --scope for steps of programs');
  return memoryNamespace({ principal: actingPrincipal(flags, env), agent, scope });
}
