import { errorMessage } from '../domain/errors/error.ts';
import { isTooDeep, MAX_CHECKED_DEPTH } from '../domain/json/json-depth.ts';
import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import { CheckTooLong } from './check-meter.ts';
import { type CompiledSchema, compiledSchema } from './compiled-schema.ts';
import { type JsonProblem, readProblems } from './json-problems.ts';
import type { ValidatorError } from './problem-text.ts';

export type { JsonProblem } from './json-problems.ts';

/** Units of work that a check may take: a number for any value, and a further number for each character of its JSON. */
const CHECK_UNITS = { any: 50_000, perCharacter: 5 };

/** Units of work after which the search for further problems stops. */
const EXPLAIN_UNITS = 5_000;

/** The most errors of the validator that are read if it stopped at the first problem. */
const MAX_ERRORS = 2_000;

/**
 * Checks a value against a JSON Schema of draft 2020-12. Returns an empty list if it fits, otherwise the problems, deepest first,
 * for a model or a person to read. `format` is an annotation, as in the draft: the other keywords are checked here, and the zod
 * schema is checked by the activity that uses the value. Never throws, and takes time in proportion to the value: a value whose
 * check would take longer does not fit. It interprets the schema and needs neither zod nor Node, so that workflows can use it.
 */
export function checkJson(schema: JsonObject, value: unknown): JsonProblem[] {
  if (value === undefined) return [{ path: '', message: 'expected a JSON value, got nothing' }];
  if (isTooDeep(value, MAX_CHECKED_DEPTH)) return unchecked(`it is nested deeper than ${MAX_CHECKED_DEPTH} levels`);
  try {
    return check(compiledSchema(schema), value as JsonValue);
  } catch (error) {
    if (error instanceof CheckTooLong) return unchecked('it takes too many steps with this schema. Give less at once');
    // The validator spreads errors into arguments: some ten thousand of them overflow the stack.
    if (error instanceof RangeError) return unchecked('it has too many problems. Give less at once');
    return unchecked(errorMessage(error));
  }
}

/** Joins problems into one line: `a: expected number, got string; missing required field "b"`. */
export function problemsText(problems: readonly JsonProblem[]): string {
  return problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

function unchecked(why: string): JsonProblem[] {
  return [{ path: '', message: `the value could not be checked: ${why}` }];
}

function check(compiled: CompiledSchema, value: JsonValue): JsonProblem[] {
  const { meter, unique, schema } = compiled;
  unique.begin(value);
  meter.begin(CHECK_UNITS.any + CHECK_UNITS.perCharacter * (JSON.stringify(value) ?? '').length);
  const first = compiled.apply(value, 'first');
  if (first.valid) return [];
  const all = allErrors(compiled, value);
  if (all !== undefined) return readProblems(all, { schema, value, isPart: false });
  const read = first.errors.slice(0, MAX_ERRORS);
  return readProblems(read, { schema, value, isPart: true });
}

/** Returns every error of a value; undefined if finding them takes too long. */
function allErrors(compiled: CompiledSchema, value: JsonValue): ValidatorError[] | undefined {
  compiled.meter.begin(EXPLAIN_UNITS);
  try {
    return compiled.apply(value, 'all').errors;
  } catch (error) {
    if (error instanceof CheckTooLong || error instanceof RangeError) return undefined;
    throw error;
  }
}
