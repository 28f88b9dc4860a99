import type { ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { checkJson, problemsText } from './check-json-schema.ts';
import { removeAddedNulls } from './remove-nulls.ts';

/** The arguments of a call as they are recorded, with the reason why the call must not run, if there is one. */
export interface CheckedArguments {
  args: JsonObject;
  problem?: string;
}

/**
 * Checks the arguments of a call against the schema of its tool. `nulls` is true if a null may stand for an argument that was left
 * out: it is removed, unless the schema accepts it.
 */
export function checkArguments(
  { name, schema }: Pick<ToolSnapshot, 'name' | 'schema'>,
  given: JsonObject,
  { nulls }: { nulls: boolean },
): CheckedArguments {
  const args = nulls ? (removeAddedNulls(schema, given) as JsonObject) : given;
  const problems = checkJson(schema, args);
  return problems.length === 0 ? { args } : { args, problem: invalidArguments(name, problemsText(problems)) };
}

/** Returns the problem of a call whose arguments do not fit, for the model or for code. */
export function invalidArguments(name: string, problem: string): string {
  return `Invalid arguments for '${name}': ${problem}`;
}
