import type { JsonObject, JsonValue } from '../domain/json.ts';
import { pointerTokens } from './json-schema.ts';
import { keywordValue, leafOf, type Leaf, type ValidatorError } from './problem-text.ts';

/** What is wrong with a value. */
export interface JsonProblem {
  /** `list[0].when`; empty for the value itself. */
  path: string;
  message: string;
}

/** A model that made more mistakes than this in one value does not need the whole list. */
const MAX_PROBLEMS = 20;

/** Keywords whose errors only say that something inside them failed. */
const CONTAINERS = new Set(['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', '$ref', 'allOf', 'if']);

const UNIONS = new Set(['anyOf', 'oneOf']);

/** The validator's errors as problems: only the innermost ones, those of a union reduced to what was most likely meant. */
export function readProblems(errors: readonly ValidatorError[], schema: JsonObject, value: JsonValue): JsonProblem[] {
  const unions = errors.filter(({ keyword }) => UNIONS.has(keyword));
  let leaves = errors
    .map(withLocation)
    .filter((error) => !UNIONS.has(error.keyword) && !CONTAINERS.has(error.keyword))
    .map((error) => leafOf(error, keywordValue(schema, error.keywordLocation), value));
  // Inner unions first: what is left of them counts for the outer ones.
  const inward = unions.toSorted((a, b) => b.keywordLocation.length - a.keywordLocation.length);
  for (const union of inward) leaves = reduceUnion(union, leaves);

  const problems = merge(leaves)
    .toSorted((a, b) => b.at.length - a.at.length)
    .map((leaf) => ({ path: pathText(leaf.at), message: messageOf(leaf) }));
  const unique = [...new Map(problems.map((problem) => [`${problem.path}: ${problem.message}`, problem])).values()];
  if (unique.length <= MAX_PROBLEMS) return unique;
  return [...unique.slice(0, MAX_PROBLEMS), { path: '', message: `and ${unique.length - MAX_PROBLEMS} more problems` }];
}

/** A `false` schema is reported without its place in the schema; the error before it is that of its keyword. */
function withLocation(error: ValidatorError, index: number, errors: readonly ValidatorError[]): ValidatorError {
  return error.keyword === 'false' ? { ...error, keywordLocation: errors[index - 1]?.keywordLocation ?? '#' } : error;
}

/** Of a union in which nothing fits: the problems of the choice that was most likely meant, or what all choices expect. */
function reduceUnion(union: ValidatorError, leaves: Leaf[]): Leaf[] {
  const prefix = `${union.keywordLocation}/`;
  const at = pointerTokens(union.instanceLocation);
  const belongs = (leaf: Leaf): boolean => leaf.where.startsWith(prefix) && at.every((token, index) => leaf.at[index] === token);
  const outside = leaves.filter((leaf) => !belongs(leaf));
  const choices = byChoice(leaves.filter(belongs), prefix);
  if (choices.length === 0)
    return [...outside, { at, where: union.keywordLocation, text: 'expected exactly one of the alternatives to fit' }];

  // Another type, or another value of a fixed field, says that this choice was not meant.
  const isForeign = (leaf: Leaf): boolean => leaf.expected !== undefined && leaf.at.length <= at.length + (leaf.fixed ? 1 : 0);
  const meant = choices.filter((choice) => !choice.some(isForeign)).toSorted((a, b) => a.length - b.length);
  return [...outside, ...(meant[0] ?? choices.flatMap((choice) => choice.filter(isForeign)))];
}

function byChoice(leaves: readonly Leaf[], prefix: string): Leaf[][] {
  const choices = new Map<string, Leaf[]>();
  for (const leaf of leaves) {
    const [index = ''] = leaf.where.slice(prefix.length).split('/');
    choices.set(index, [...(choices.get(index) ?? []), leaf]);
  }
  return [...choices.values()];
}

/** Expectations of the same place in one: `expected string or number, got boolean`. */
function merge(leaves: Leaf[]): Leaf[] {
  const merged = new Map<string, Leaf>();
  leaves.forEach((leaf, index) => {
    const key = leaf.expected === undefined ? `text ${index}` : JSON.stringify(leaf.at);
    const known = merged.get(key);
    if (known?.expected === undefined) merged.set(key, leaf);
    else merged.set(key, { ...known, expected: [...new Set([...known.expected, ...(leaf.expected ?? [])])] });
  });
  return [...merged.values()];
}

function messageOf({ expected, got, text }: Leaf): string {
  if (expected === undefined) return text ?? 'does not fit';
  const last = expected.at(-1) ?? 'something else';
  const alternatives = expected.length > 1 ? `${expected.slice(0, -1).join(', ')} or ${last}` : last;
  return `expected ${alternatives}, got ${got ?? 'something else'}`;
}

/** `list`, `0`, `when` as `list[0].when`. */
function pathText(at: readonly string[]): string {
  return at.map((token, index) => (/^\d+$/.test(token) ? `[${token}]` : `${index === 0 ? '' : '.'}${token}`)).join('');
}
