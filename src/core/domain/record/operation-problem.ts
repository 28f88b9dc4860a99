import { isJsonObject } from '../json/json.ts';
import type { ContextOperation } from './context-update.ts';
import { depsProblem } from './deps-problem.ts';

const OPERATIONS: readonly string[] = ['set', 'merge', 'append', 'delete'] satisfies ContextOperation['op'][];

/** Returns the reason why a value is no operation on deps, with the path of a value that must not be in deps; undefined if it is one. */
export function operationProblem(operation: ContextOperation | null): string | undefined {
  if (operation === null || !OPERATIONS.includes(operation.op)) {
    return `there is no operation ${JSON.stringify(operation?.op ?? null)}: write ${OPERATIONS.slice(0, -1).join(', ')} or ${OPERATIONS.at(-1)}`;
  }
  const { op, key } = operation;
  if (typeof key !== 'string' || key === '') return `the key of "${op}" is ${JSON.stringify(key)}: write the name of a field`;
  if (op === 'delete') return undefined;
  if (op === 'merge' && !isJsonObject(operation.value)) return `what is merged into deps.${key} is no object`;
  if (operation.value === undefined) return `deps.${key} is undefined: write null, or delete the key`;
  return depsProblem({ [key]: operation.value });
}
