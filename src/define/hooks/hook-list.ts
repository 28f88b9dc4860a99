import { UsageError } from '../../core/domain/errors.ts';
import type { AnyHook } from './hook-definition.ts';

/** The most hooks of an agent, and of a worker: all of them are pinned for each run, and for the runs below it. */
const MAX_HOOKS = 50;

/** Returns the hooks of an agent or a worker. Throws a UsageError for another value, and for two hooks of one name. */
export function checkHooks(owner: string, hooks: unknown = []): readonly AnyHook[] {
  if (!Array.isArray(hooks)) throw new UsageError(`${owner}: "hooks" is ${JSON.stringify(hooks)}: write a list of hooks`);
  if (hooks.length > MAX_HOOKS)
    throw new UsageError(`${owner} has ${hooks.length} hooks, over ${MAX_HOOKS}: let one function do the work of several`);
  const names = new Set<string>();
  for (const hook of hooks as (Partial<AnyHook> | null | undefined)[]) {
    if (hook?.kind !== 'longhaul.hook') throw new UsageError(`${owner}: "hooks" has a value that is not a hook: make it with defineHook`);
    const { name = '' } = hook;
    if (names.has(name)) throw new UsageError(`${owner} has two hooks named "${name}": give each its own name`);
    names.add(name);
  }
  return Object.freeze([...(hooks as AnyHook[])]);
}

/** Throws a UsageError if a worker and one of its agents have a hook of the same name: records could not tell them apart. */
export function requireOwnNames(ofWorker: readonly AnyHook[], agent: string, ofAgent: readonly AnyHook[]): void {
  const both = ofAgent.find(({ name }) => ofWorker.some((one) => one.name === name));
  if (both === undefined) return;
  throw new UsageError(`the worker and agent "${agent}" each have a hook named "${both.name}": give each its own name`);
}
