import type { ContextOperation } from '../../src/core/domain/record/context-update.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { operationProblem } from '../../src/core/domain/record/operation-problem.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { cleanJson } from '../../src/model/clean-json.ts';

/** The operations of an update that a tool returned, or the reason why it is refused. */
export type ReturnedUpdate = { ok: true; operations: ContextOperation[] } | { ok: false; problem: string };

/** The field of a plain result that holds changes to deps, for tools with `legacyUpdates`. */
const LEGACY_KEY = '__update_context__';

/** Checks an update that a tool returned: a value that is not JSON, or must not be in deps, is refused with its path. */
export function updateFrom(toolName: string, update: unknown): ReturnedUpdate {
  const refused = (problem: string): ReturnedUpdate => ({
    ok: false,
    problem: `The update of the deps by tool '${toolName}' was refused, and changed nothing: ${problem}`,
  });
  if (!hasOperations(update)) return refused('it has no list of operations: write contextUpdate().set(key, value)');
  const operations: ContextOperation[] = [];
  for (const operation of update.operations) {
    const problem = operationProblem(operation as ContextOperation | null);
    if (problem !== undefined) return refused(problem);
    operations.push(cleanJson(operation) as ContextOperation);
  }
  // All operations are recorded, including those that a later one undoes.
  const bytes = jsonBytes(operations);
  return bytes <= BYTE_BUDGETS.deps
    ? { ok: true, operations }
    : refused(`its operations are ${bytes} bytes of JSON, over ${BYTE_BUDGETS.deps}`);
}

function hasOperations(update: unknown): update is { operations: readonly unknown[] } {
  return typeof update === 'object' && update !== null && 'operations' in update && Array.isArray(update.operations);
}

/** Separates a result from the changes in its legacy field, which become `set` operations. */
export function withoutLegacyUpdate(returned: unknown): { value: unknown; update?: { operations: ContextOperation[] } } {
  if (!isPlainObject(returned) || !Object.hasOwn(returned, LEGACY_KEY)) return { value: returned };
  const { [LEGACY_KEY]: changes, ...value } = returned;
  if (!isPlainObject(changes)) return { value };
  const operations = Object.entries(changes).map(([key, one]) => ({ op: 'set', key, value: one }) as ContextOperation);
  return { value, update: { operations } };
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
