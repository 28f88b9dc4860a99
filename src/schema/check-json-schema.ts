import { Validator } from '@cfworker/json-schema';
import { errorMessage } from '../domain/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import { mapSubschemas, propertiesOf } from './json-schema.ts';
import { type JsonProblem, readProblems } from './json-problems.ts';
import type { ValidatorError } from './problem-text.ts';

export type { JsonProblem } from './json-problems.ts';

/** The validators of a schema. Keeping them decides only how fast the answer comes. */
interface Compiled {
  schema: JsonObject;
  /** Stops at the first problem: fast, and bounded where a schema refers to itself. */
  quick: Validator;
  /** Finds every problem. Undefined for a schema that refers to itself, where that can take exponential time. */
  thorough: Validator | undefined;
}

const compiled = new WeakMap<JsonObject, Compiled>();

/**
 * Checks a value with a JSON Schema of draft 2020-12: an empty list where it fits, otherwise the problems, deepest
 * first, for a model or a person to read. `format` is an annotation, as in the draft: what fits is said by the other
 * keywords, and by the zod schema where the value is used. Never throws. It interprets the schema and needs neither
 * zod nor Node, so that workflows can use it.
 */
export function checkJson(schema: JsonObject, value: unknown): JsonProblem[] {
  if (value === undefined) return [{ path: '', message: 'expected a JSON value, got nothing' }];
  try {
    const { quick, thorough, schema: checked } = validators(schema);
    const first = quick.validate(value);
    if (first.valid) return [];
    const errors: ValidatorError[] = (thorough?.validate(value) ?? first).errors;
    return readProblems(errors, checked, value as JsonValue);
  } catch (error) {
    return [{ path: '', message: `the value could not be checked: ${errorMessage(error)}` }];
  }
}

/** Problems in one line: `a: expected number, got string; missing required field "b"`. */
export function problemsText(problems: readonly JsonProblem[]): string {
  return problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

function validators(schema: JsonObject): Compiled {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  // The validator writes into the schema that it is given, and a snapshot is not to be written into.
  const checked = JSON.parse(JSON.stringify(prepare(schema))) as JsonObject;
  const isRecursive = JSON.stringify(checked).includes('"$ref"');
  const made = {
    schema: checked,
    quick: new Validator(checked, '2020-12', true),
    thorough: isRecursive ? undefined : new Validator(checked, '2020-12', false),
  };
  compiled.set(schema, made);
  return made;
}

/** The types that JSON has. A schema from elsewhere may name others, which nothing could be checked against. */
const TYPES: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];

/**
 * `format` and types that nobody knows out of the validator's sight, and fields with a fixed value first: they tell the
 * choices of a union apart at once.
 */
function prepare(schema: JsonObject): JsonObject {
  const { format, type, ...others } = mapSubschemas(schema, prepare);
  const rest = isKnown(type) ? { ...others, type } : others;
  const named = format === undefined ? rest : { ...rest, 'x-format': format };
  if (rest['properties'] === undefined) return named;
  const entries = Object.entries(propertiesOf(rest));
  const isFixed = ([, property]: [string, JsonValue]): boolean => isJsonObject(property) && 'const' in property;
  return { ...named, properties: Object.fromEntries([...entries.filter(isFixed), ...entries.filter((entry) => !isFixed(entry))]) };
}

function isKnown(type: JsonValue | undefined): type is JsonValue {
  return Array.isArray(type) ? type.every((one) => TYPES.includes(one)) : TYPES.includes(type);
}
