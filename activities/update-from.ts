import type { ContextOperation } from '../src/domain/context-update.ts';
import { depsProblem } from '../src/domain/deps-problem.ts';
import { isJsonObject } from '../src/domain/json.ts';
import { cleanJson } from '../src/model/clean-json.ts';

/** The operations of an update that a tool returned; or why they are none. */
export type ReturnedUpdate = { ok: true; operations: ContextOperation[] } | { ok: false; problem: string };

/** The key under which a tool of seed 002 returned changes of the deps, among the fields of its result. */
const LEGACY_KEY = '__update_context__';

/** Checks what a tool returned as an update: what is not JSON, and what must not be in deps, is refused with its path. */
export function updateFrom(toolName: string, update: { readonly operations: readonly ContextOperation[] }): ReturnedUpdate {
  const operations: ContextOperation[] = [];
  for (const operation of update.operations) {
    const problem = problemOf(operation);
    if (problem !== undefined)
      return { ok: false, problem: `The update of the deps by tool '${toolName}' was refused, and changed nothing: ${problem}` };
    operations.push(cleanJson(operation) as ContextOperation);
  }
  return { ok: true, operations };
}

/** A result without the changes that it names in the way of seed 002: fields to set. */
export function withoutLegacyUpdate(returned: unknown): { value: unknown; update?: { operations: ContextOperation[] } } {
  if (!isPlainObject(returned) || !Object.hasOwn(returned, LEGACY_KEY)) return { value: returned };
  const { [LEGACY_KEY]: changes, ...value } = returned;
  if (!isPlainObject(changes)) return { value };
  const operations = Object.entries(changes).map(([key, one]) => ({ op: 'set', key, value: one }) as ContextOperation);
  return { value, update: { operations } };
}

function problemOf(operation: ContextOperation): string | undefined {
  const { op, key } = operation;
  if (typeof key !== 'string' || key === '') return `the key of "${op}" is ${JSON.stringify(key)}: write the name of a field`;
  if (op === 'delete') return undefined;
  if (op === 'merge' && !isJsonObject(operation.value)) return `what is merged into deps.${key} is no object`;
  if (operation.value === undefined) return `deps.${key} is undefined: write null, or delete the key`;
  return depsProblem({ [key]: operation.value });
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
