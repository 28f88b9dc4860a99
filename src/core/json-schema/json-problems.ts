import { memberPath } from '../domain/json/json-path.ts';
import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import { narrowedWhole } from './expectations.ts';
import { keywordValue, leafOf, type Leaf, shortName, type ValidatorError } from './problem-text.ts';
import { reduceUnions } from './reduce-unions.ts';
import { shortJsonOnce } from './short-json.ts';

/** One problem of a value. */
export interface JsonProblem {
  /** `list[0].when`; empty for the value itself. */
  path: string;
  message: string;
}

/** A value that does not fit its schema. `isPart`: not all of its errors are known. */
interface Checked {
  schema: JsonObject;
  value: JsonValue;
  isPart: boolean;
}

/** The most problems in one list: a model with more mistakes in one value does not need all of them. */
const MAX_PROBLEMS = 20;

/** Keywords whose errors only say that something inside them failed. */
const CONTAINERS = new Set(['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', '$ref', 'allOf', 'if']);

const UNIONS = new Set(['anyOf', 'oneOf']);

/**
 * Turns the validator's errors into problems: only the innermost ones, and for a union only those of the choice that the value is
 * most likely meant to fit. `isPart`: the value may have further errors.
 */
export function readProblems(errors: readonly ValidatorError[], { schema, value, isPart }: Checked): JsonProblem[] {
  const unions = errors.filter(({ keyword }) => UNIONS.has(keyword));
  const quoted = { value, quote: shortJsonOnce() };
  const leaves = errors
    .map(withLocation)
    .filter((error) => !UNIONS.has(error.keyword) && !CONTAINERS.has(error.keyword))
    .map((error) => leafOf(error, keywordValue(schema, error.keywordLocation), quoted));
  const problems = narrowedWhole(reduceUnions(unions, leaves))
    .toSorted((a, b) => b.at.length - a.at.length)
    .map((leaf) => ({ path: pathText(leaf.at), message: messageOf(leaf) }));
  const unique = [...new Map(problems.map((problem) => [`${problem.path}: ${problem.message}`, problem])).values()];
  const first = unique.slice(0, MAX_PROBLEMS);
  if (isPart) return [...first, { path: '', message: 'and there may be more problems' }];
  const left = unique.length - first.length;
  return left === 0 ? first : [...first, { path: '', message: `and ${left} more problems` }];
}

/** Adds the location to the error of a `false` schema, which the validator reports without one: the error before it has it. */
function withLocation(error: ValidatorError, index: number, errors: readonly ValidatorError[]): ValidatorError {
  return error.keyword === 'false' ? { ...error, keywordLocation: errors[index - 1]?.keywordLocation ?? '#' } : error;
}

function messageOf({ expected, got, text }: Leaf): string {
  if (expected === undefined) return text ?? 'does not fit';
  const last = expected.at(-1) ?? 'something else';
  const alternatives = expected.length > 1 ? `${expected.slice(0, -1).join(', ')} or ${last}` : last;
  return `expected ${alternatives}, got ${got ?? 'something else'}`;
}

/** Formats a path: `list`, `0`, `when`, `a b` as `list[0].when["a b"]`. */
function pathText(at: readonly string[]): string {
  return at.map(shortName).reduce((path, token) => (/^\d+$/.test(token) ? `${path}[${token}]` : memberPath(path, token)), '');
}
