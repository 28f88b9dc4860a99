import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { MAX_PATTERN_TEXT } from './bounded-pattern.ts';
import { dereference, pointerTokens } from './json-schema.ts';
import { shortJson } from './short-json.ts';
import { MAX_COMPARED_ITEMS } from './unique-items.ts';

/** The most characters of a key that a problem quotes. */
const MAX_NAME = 200;

/** An error as the validator reports it. */
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
  /** The location in the schema, as the validator writes it. */
  where: string;
  expected?: string[];
  got?: string;
  /** A fixed value was expected, not a type: by all choices, or by some. */
  fixed?: 'all' | 'some';
  text?: string;
}

/** The value that errors are about, and the function that quotes its parts. */
export interface Quoted {
  value: JsonValue;
  quote: typeof shortJson;
}

/** The value of a keyword, and the schema that contains it. */
export interface Keyword {
  value: JsonValue | undefined;
  schema: JsonObject;
}

/** Resolves a keyword location of the validator, which goes through references: `#/items/$ref/properties/a/type`. */
export function keywordValue(root: JsonObject, location: string): Keyword {
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
export function leafOf(error: ValidatorError, keyword: Keyword, { value, quote }: Quoted): Leaf {
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
      return { ...leaf, text: `missing required field ${quoted(error.error)}` };
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

const TOO_LONG = `expected at most ${MAX_PATTERN_TEXT} characters, as many as a pattern is checked with, got more`;

/** True if the bounded pattern failed because the text is too long: then the author's pattern was not applied. */
function isTooLong(found: JsonValue | undefined, { value, schema }: Keyword): boolean {
  return 'x-pattern' in schema && value === schema['pattern'] && typeof found === 'string' && Array.from(found).length > MAX_PATTERN_TEXT;
}

/** Returns the name that the validator's sentence quotes, in its quotes. */
function quoted(sentence: string): string {
  return sentence.slice(sentence.indexOf('"'), sentence.lastIndexOf('"') + 1);
}

/** Shortens a long key, which the model or the caller has chosen. */
export function shortName(name: string): string {
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

/** Returns the values of an `enum`, without those that the type in the same schema rules out. */
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

/** Names the type of a value; for a number instead of an expected integer, returns the number. */
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
