import { errorMessage } from '../domain/errors.ts';
import { defined, isJsonObject, isTooDeep, type JsonObject, type JsonValue, MAX_CHECKED_DEPTH, memberPath } from '../domain/json.ts';
import { CheckTooLong, type CompiledSchema, compiledSchema, MAX_COMPARED_ITEMS, MAX_PATTERN_TEXT } from './compiled-schema.ts';
import { dereference, pointerTokens, shortJson, shortJsonOnce } from './json-schema.ts';

/** The maximum work units of a check: a constant, plus a number per character of the value's JSON. */
const CHECK_UNITS = { any: 50_000, perCharacter: 5 };

/** The work units after which the search for further problems stops. */
const EXPLAIN_UNITS = 5_000;

/** The maximum number of validator errors that are read if it stopped at the first problem. */
const MAX_ERRORS = 2_000;

/**
 * Checks a value against a JSON Schema of draft 2020-12. Returns an empty list if it fits, otherwise the problems, deepest first, for a
 * model or a person. `format` is only an annotation, as in the draft; the activity that uses the value also checks it with the zod schema.
 * Never throws, and takes time in proportion to the value: a value whose check would take longer counts as invalid. It interprets the
 * schema without zod or Node, so that workflows can use it.
 */
export function checkJson(schema: JsonObject, value: unknown): JsonProblem[] {
  if (value === undefined) return [{ path: '', message: 'expected a JSON value, got nothing' }];
  if (isTooDeep(value, MAX_CHECKED_DEPTH)) return unchecked(`it is nested deeper than ${MAX_CHECKED_DEPTH} levels`);
  try {
    return check(compiledSchema(schema), value as JsonValue);
  } catch (error) {
    if (error instanceof CheckTooLong) return unchecked('it takes too many steps with this schema. Give less at once');
    // The validator spreads errors into arguments: tens of thousands of them overflow the stack.
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

/** Returns all errors of a value, or undefined if finding them takes too long. */
function allErrors(compiled: CompiledSchema, value: JsonValue): ValidatorError[] | undefined {
  compiled.meter.begin(EXPLAIN_UNITS);
  try {
    return compiled.apply(value, 'all').errors;
  } catch (error) {
    if (error instanceof CheckTooLong || error instanceof RangeError) return undefined;
    throw error;
  }
}

export interface JsonProblem {
  /** `list[0].when`; empty for the value itself. */
  path: string;
  message: string;
}

/** A value that does not fit its schema. `isPart`: some of its errors are unknown. */
interface Checked {
  schema: JsonObject;
  value: JsonValue;
  isPart: boolean;
}

/** The maximum number of problems in a list: a model with more mistakes in one value does not need all of them. */
const MAX_PROBLEMS = 20;

/** Keywords whose errors only report that something inside them failed. */
const CONTAINERS = new Set(['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', '$ref', 'allOf', 'if']);

const UNIONS = new Set(['anyOf', 'oneOf']);

/**
 * Turns the validator's errors into problems: only the innermost ones, and for a union only those of the choice that the value most likely
 * meant. `isPart`: the value may have further errors.
 */
function readProblems(errors: readonly ValidatorError[], { schema, value, isPart }: Checked): JsonProblem[] {
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

/** Adds the missing location to the validator's error of a `false` schema, taken from the previous error. */
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

/**
 * Reduces the errors of each union that the value does not fit: to those of the choice that the value most likely meant, or else to the
 * expectations of all choices. Reads the leaves once per level of the schema with unions, regardless of the number of values that do not
 * fit.
 */
export function reduceUnions(unions: readonly ValidatorError[], leaves: readonly Leaf[]): Leaf[] {
  const byLength = grouped(unions, ({ keywordLocation }) => keywordLocation.length);
  // Inner unions first: outer ones count only the remaining errors.
  const inward = [...byLength].toSorted(([a], [b]) => b - a);
  return inward.reduce<Leaf[]>((left, [length, level]) => reduceLevel(level, length, left), [...leaves]);
}

/** A union that the value does not fit, with the leaves inside it. */
interface Inside {
  union: ValidatorError;
  /** The path in the value. */
  at: string[];
  leaves: Leaf[];
}

/** Reduces unions whose schema locations are equally long, so that none is inside another. */
function reduceLevel(unions: readonly ValidatorError[], length: number, leaves: readonly Leaf[]): Leaf[] {
  const known = new Map<string, Inside>();
  const levels = new Map<string, number>();
  for (const union of unions) {
    const at = pointerTokens(union.instanceLocation);
    levels.set(union.keywordLocation, at.length);
    known.set(keyOf(union.keywordLocation, at), { union, at, leaves: [] });
  }
  const outside: Leaf[] = [];
  for (const leaf of leaves) {
    const where = leaf.where[length] === '/' ? leaf.where.slice(0, length) : '';
    const depth = levels.get(where);
    const inside = depth === undefined ? undefined : known.get(keyOf(where, leaf.at.slice(0, depth)));
    (inside?.leaves ?? outside).push(leaf);
  }
  return [...outside, ...[...known.values()].flatMap(reduceUnion)];
}

function keyOf(where: string, at: readonly string[]): string {
  return JSON.stringify([where, ...at]);
}

function reduceUnion({ union, at, leaves }: Inside): Leaf[] {
  const choices = byChoice(leaves, `${union.keywordLocation}/`).map((choice) => narrowed(choice));
  if (choices.length === 0) return [{ at, where: union.keywordLocation, text: 'expected exactly one of the alternatives to fit' }];

  // A different type, or a different value of a fixed field, shows that the value did not mean this choice.
  const isForeign = (leaf: Leaf): boolean => leaf.expected !== undefined && leaf.at.length <= at.length + (leaf.fixed ? 1 : 0);
  const likely = choices.filter((choice) => !choice.some(isForeign)).toSorted((a, b) => a.length - b.length);
  return likely[0] ?? eitherOf(choices.flatMap((choice) => choice.filter(isForeign)));
}

function byChoice(leaves: readonly Leaf[], prefix: string): Leaf[][] {
  return [...grouped(leaves, ({ where }) => where.slice(prefix.length).split('/', 1)[0] ?? '').values()];
}

function grouped<Item, Key>(items: readonly Item[], keyOfItem: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOfItem(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * Removes an expected type if a fixed value is expected at the same path: a value of the right type would still not fit. `except`: types
 * that stay.
 */
function narrowed(leaves: readonly Leaf[], except: (leaf: Leaf) => boolean = () => false): Leaf[] {
  const fixedPaths = new Set(leaves.filter(({ fixed }) => fixed === 'all').map(pathKey));
  return leaves.filter((leaf) => leaf.expected === undefined || leaf.fixed !== undefined || !fixedPaths.has(pathKey(leaf)) || except(leaf));
}

/** Like `narrowed`, for the whole value: a type and a list of values in one schema are two rules, and both are reported. */
function narrowedWhole(leaves: readonly Leaf[]): Leaf[] {
  const lists = new Set(leaves.filter(({ where }) => where.endsWith('/enum')).map(({ where }) => where.slice(0, -'enum'.length)));
  return narrowed(leaves, ({ where }) => where.endsWith('/type') && lists.has(where.slice(0, -'type'.length)));
}

/** Joins the expectations of several choices for the same path: `expected string or number, got boolean`. */
function eitherOf(leaves: readonly Leaf[]): Leaf[] {
  const merged = new Map<string, Leaf>();
  leaves.forEach((leaf, index) => {
    const key = leaf.expected === undefined ? `text ${index}` : pathKey(leaf);
    const known = merged.get(key);
    merged.set(key, known === undefined ? leaf : joined(known, leaf));
  });
  return [...merged.values()];
}

function joined(one: Leaf, other: Leaf): Leaf {
  const expected = [...new Set([...(one.expected ?? []), ...(other.expected ?? [])])];
  const { got } = one.fixed === undefined && other.fixed !== undefined ? other : one;
  const areAllFixed = one.fixed === 'all' && other.fixed === 'all';
  const { fixed: _, ...rest } = one;
  if (one.fixed === undefined && other.fixed === undefined) return { ...rest, expected };
  return { ...rest, expected, ...defined({ got }), fixed: areAllFixed ? 'all' : 'some' };
}

function pathKey({ at }: Leaf): string {
  return JSON.stringify(at);
}

/** The maximum characters of a quoted key in a problem. */
const MAX_NAME = 200;

/** An error reported by the validator. */
export interface ValidatorError {
  keyword: string;
  keywordLocation: string;
  instanceLocation: string;
  error: string;
}

/** One error of the validator: an expectation about a part of the value, or a text. */
export interface Leaf {
  /** The path in the value. */
  at: string[];
  /** The location in the schema, in the validator's notation. */
  where: string;
  expected?: string[];
  got?: string;
  /** A fixed value was expected, not a type: by all choices, or by some. */
  fixed?: 'all' | 'some';
  text?: string;
}

/** The value with the errors, and the function that quotes its parts. */
interface Quoted {
  value: JsonValue;
  quote: typeof shortJson;
}

/** The value of a keyword, and the schema that contains it. */
interface Keyword {
  value: JsonValue | undefined;
  schema: JsonObject;
}

/** Resolves the validator's location of a keyword, which follows references: `#/items/$ref/properties/a/type`. */
function keywordValue(root: JsonObject, location: string): Keyword {
  let schema = root;
  let current: JsonValue | undefined = root;
  for (const token of pointerTokens(location)) {
    if (current === undefined || typeof current !== 'object' || current === null) break;
    if (isJsonObject(current)) schema = current;
    if (token === '$ref' && isJsonObject(current)) current = dereference(current, root);
    else current = Array.isArray(current) ? current[Number(token)] : Object.hasOwn(current, token) ? current[token] : undefined;
  }
  return { value: current, schema };
}

/** Describes an error of the validator in words. */
function leafOf(error: ValidatorError, keyword: Keyword, { value, quote }: Quoted): Leaf {
  const at = pointerTokens(error.instanceLocation);
  const leaf = { at, where: error.keywordLocation };
  const found = valueAt(value, at);
  switch (error.keyword) {
    case 'type':
      return { ...leaf, expected: names(keyword.value), got: kindOf(found, keyword.value) };
    case 'const':
      return { ...leaf, expected: [shortJson(keyword.value)], got: quote(found), fixed: 'all' };
    case 'enum':
      return { ...leaf, expected: listed(keyword).map(shortJson), got: quote(found), fixed: 'all' };
    case 'required':
      return { ...leaf, text: `missing required field ${quotedSentence(error.error)}` };
    case 'false':
      return unexpected(leaf);
    default:
      if (isTooLong(found, keyword)) return { ...leaf, text: TOO_LONG };
      return {
        ...leaf,
        text: `${boundText(error.keyword, keyword) ?? error.error.replace(/\.$/, '')}, got ${amount(error.keyword, found, quote)}`,
      };
  }
}

const TOO_LONG = `expected at most ${MAX_PATTERN_TEXT} characters, the maximum for checking a pattern, got more`;

/** True if the bounded pattern failed because the text is too long, so that the author's pattern was not applied. */
function isTooLong(found: JsonValue | undefined, { value, schema }: Keyword): boolean {
  return 'x-pattern' in schema && value === schema['pattern'] && typeof found === 'string' && Array.from(found).length > MAX_PATTERN_TEXT;
}

/** Returns the quoted name in the validator's sentence, with its quotes. */
function quotedSentence(sentence: string): string {
  return sentence.slice(sentence.indexOf('"'), sentence.lastIndexOf('"') + 1);
}

/** Shortens a long key chosen by the model or the caller. */
function shortName(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME).replace(/[\ud800-\udbff]$/, '')}...`;
}

/** Describes a field or an item that the schema does not allow. */
function unexpected({ at, where }: Leaf): Leaf {
  const name = at.at(-1) ?? '';
  return {
    at: at.slice(0, -1),
    where,
    text: /^\d+$/.test(name) ? `unexpected item ${name}` : `unknown field ${JSON.stringify(shortName(name))}`,
  };
}

function boundText(keyword: string, { value, schema }: Keyword): string | undefined {
  const format = schema['x-format'];
  switch (keyword) {
    case 'minimum':
      return `expected a number >= ${shortJson(value)}`;
    case 'maximum':
      return `expected a number <= ${shortJson(value)}`;
    case 'exclusiveMinimum':
      return `expected a number > ${shortJson(value)}`;
    case 'exclusiveMaximum':
      return `expected a number < ${shortJson(value)}`;
    case 'multipleOf':
      return `expected a multiple of ${shortJson(value)}`;
    case 'minLength':
      return `expected at least ${count(value, 'character')}`;
    case 'maxLength':
      return `expected at most ${count(value, 'character')}`;
    case 'minItems':
      return `expected at least ${count(value, 'item')}`;
    case 'maxItems':
      return `expected at most ${count(value, 'item')}${value === MAX_COMPARED_ITEMS && 'uniqueItems' in schema ? ' where none may repeat another' : ''}`;
    case 'pattern':
      return typeof format === 'string'
        ? `expected text in the format ${format}`
        : `expected text that matches ${shortJson(schema['x-pattern'] ?? value)}`;
    default:
      return undefined;
  }
}

function count(number: JsonValue | undefined, noun: string): string {
  return `${shortJson(number)} ${noun}${number === 1 ? '' : 's'}`;
}

function amount(keyword: string, found: JsonValue | undefined, quote: Quoted['quote']): string {
  if (keyword.endsWith('Length') && typeof found === 'string') return String(Array.from(found).length);
  if (keyword.endsWith('Items') && Array.isArray(found)) return String(found.length);
  return quote(found);
}

/** Returns the values of an `enum`, except those ruled out by the type in the same schema. */
function listed({ value, schema }: Keyword): JsonValue[] {
  const values = Array.isArray(value) ? value : [];
  const types = schema['type'] === undefined ? undefined : names(schema['type']);
  const fitting = types === undefined ? values : values.filter((one) => isOfType(one, types));
  return fitting.length === 0 ? values : fitting;
}

function isOfType(value: JsonValue, types: readonly string[]): boolean {
  return types.includes(kindOf(value, undefined)) || (types.includes('integer') && Number.isInteger(value));
}

function names(types: JsonValue | undefined): string[] {
  return (Array.isArray(types) ? types : [types]).map(String);
}

/** Names the type of a value; for a non-integer instead of an integer, returns the number. */
function kindOf(value: JsonValue | undefined, expected: JsonValue | undefined): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number' && names(expected).includes('integer')) return shortJson(value);
  return typeof value;
}

function valueAt(value: JsonValue, at: readonly string[]): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const token of at) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return undefined;
    current = Array.isArray(current) ? current[Number(token)] : current[token];
  }
  return current;
}
