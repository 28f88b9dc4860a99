import { BYTE_BUDGETS } from '../json/byte-budget.ts';
import { isJsonObject, type JsonObject } from '../json/json.ts';
import { jsonBytes } from '../json/payload-limit.ts';
import { depsProblem } from './deps-problem.ts';

/**
 * Returns the problem if these changes would exceed the budget of a run's state, otherwise undefined. The model reads the text
 * as the result of a call.
 */
export function stateProblem(state: JsonObject, changes: JsonObject): string | undefined {
  const keys = Object.keys(changes);
  if (keys.length === 0) return undefined;
  // Merges entries, because a spread would lose a key named `__proto__`.
  const merged = Object.fromEntries([...Object.entries(state), ...Object.entries(changes)]);
  const bytes = jsonBytes(merged);
  if (bytes <= BYTE_BUDGETS.state) return undefined;
  const named = keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 100)));
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return `The field "state" would be ${bytes} bytes of JSON, over ${BYTE_BUDGETS.state}: setting ${named.join(', ')}${more} changed nothing. Keep less in the state.`;
}

/** Returns the problem of a state that a run is to begin with; undefined if it can. Its rules are those of deps. */
export function startStateProblem(state: unknown): string | undefined {
  const problem = depsProblem(state, 'state');
  if (problem !== undefined) return problem;
  return isJsonObject(state) ? undefined : 'state: expected an object of JSON values';
}
