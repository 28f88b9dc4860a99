import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { applyOperations, type ContextOperation, depsProblem, operationProblem } from '../../core/domain/deps.ts';

/**
 * Returns deps after an update, as a run applies it behind the call whose tool returned it: the operations in their order, each on the
 * outcome of the one before. Changes neither of its arguments. Throws a `UsageError` if an operation cannot be applied, such as an
 * `append` to a value that is no list, or has a value that is not JSON: then no part of it counts, as in a run. The schema of an agent's
 * deps is checked by the run alone.
 *
 * @example
 * const after = applyContextUpdate({ notes: ['a'] }, contextUpdate().append('notes', 'b').set('count', 2));
 * // { notes: ['a', 'b'], count: 2 }
 */
export function applyContextUpdate<Deps extends object = JsonObject>(
  deps: Deps,
  update: { readonly operations: readonly ContextOperation[] },
): Deps {
  const { operations } = Object(update) as { operations?: unknown };
  if (!Array.isArray(operations)) throw refused('it has no list of operations: write contextUpdate().set(key, value)');
  const list: readonly unknown[] = operations;
  const problem = depsProblem(deps) ?? list.map((one) => operationProblem(one as ContextOperation | null)).find((one) => one !== undefined);
  if (problem !== undefined) throw refused(problem);
  const updated = applyOperations(deps as JsonObject, list as ContextOperation[]);
  if (!updated.ok) throw refused(updated.problem);
  return updated.deps as Deps;
}

function refused(problem: string): UsageError {
  return new UsageError(`The update of the deps cannot be applied: ${problem}`);
}
