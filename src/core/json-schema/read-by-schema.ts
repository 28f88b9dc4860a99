import type { ToolSnapshot } from '../domain/agent.ts';
import { canonicalJson, defined, isJsonObject, isTooDeep, type JsonObject, type JsonValue, parsedJson } from '../domain/json.ts';
import { checkJson, problemsText } from './check-json-schema.ts';
import { compiledSchema } from './compiled-schema.ts';
import { acceptsNull, dereference, propertiesOf, requiredOf, subschemas, typesOf } from './json-schema.ts';

/** The arguments of a call as recorded, and the reason why the call must not run, if any. */
export interface CheckedArguments {
  args: JsonObject;
  problem?: string;
}

/** The parts of a tool that its arguments are checked with. */
type CheckedTool = Pick<ToolSnapshot, 'name' | 'schema' | 'changesArguments'>;

/**
 * Checks the unchanged arguments of a call against its tool's schema. A schema that may change arguments may also repair those that do not fit
 * (`catch`, `preprocess`, `coerce`): the worker parses them before anything decides about them, and alone can refuse them.
 */
export function checkArguments({ name, schema, changesArguments }: CheckedTool, args: JsonObject): CheckedArguments {
  if (changesArguments && !isTooDeep(args)) return { args };
  const problems = checkJson(schema, args);
  return problems.length === 0 ? { args } : { args, problem: invalidArguments(name, problemsText(problems)) };
}

/**
 * Checks the arguments sent by a model against its tool's schema. Valid arguments stay unchanged. Otherwise, nulls for omitted arguments
 * are removed, and arguments in another form (JSON as text, wrapped in `{"arguments": …}`) are read if exactly one reading of them is
 * valid. The call runs with the returned arguments. If none fits, the worker decides about a schema that may repair them.
 */
export function readArguments({ name, schema, changesArguments }: CheckedTool, given: JsonValue): CheckedArguments {
  const isWrapped = onlyField(name, given) !== undefined && isWrapper(name, given, schema);
  if (!isWrapped && isJsonObject(given) && checkJson(schema, given).length === 0) return { args: given };
  const plain = isJsonObject(given) ? (removeAddedNulls(schema, given) as JsonObject) : undefined;
  const problems = plain === undefined ? [] : checkJson(schema, plain);
  if (!isWrapped && plain !== undefined && problems.length === 0) return { args: plain };
  const layers = unwrapped(name, given, declaredNames(schema)).filter((root) => !isWrapper(name, root, schema));
  const read = onlyOne(layers.flatMap((root) => fittingObject(schema, root)));
  if (read !== undefined) return { args: read };
  if (plain === undefined) return { args: {}, problem: invalidArguments(name, `expected object, got ${typeOf(given)}`) };
  if (changesArguments && !isWrapped && !isTooDeep(plain)) return { args: plain };
  return { args: plain, problem: invalidArguments(name, problemsText(problems) || WRAPPED) };
}

const WRAPPED = 'they are inside another field, and cannot be read there. Send them as the fields of the object itself, complete';

/** Returns the problem of a call with invalid arguments, for the model or for code. */
export function invalidArguments(name: string, problem: string): string {
  return `Invalid arguments for '${name}': ${problem}`;
}

function fittingObject(schema: JsonObject, root: JsonValue): JsonObject[] {
  if (!isJsonObject(root)) return [];
  const read = readBySchema(schema, root);
  return isJsonObject(read) && checkJson(schema, read).length === 0 ? [read] : [];
}

/** Returns the value of all readings if they agree, or undefined if there is none or more than one. */
export function onlyOne<Value extends JsonValue>(readings: readonly Value[]): Value | undefined {
  const [first, ...others] = readings;
  if (first === undefined) return undefined;
  const text = canonicalJson(first);
  return others.every((one) => canonicalJson(one) === text) ? first : undefined;
}

/** The fields in which models wrap a call's arguments, next to the tool's name. */
const WRAPPERS: readonly string[] = ['arguments', 'args', 'parameters', 'params', 'input', 'tool_input', 'kwargs'];

/** The fields in which models put the tool's name next to the arguments. */
const LABELS: readonly string[] = ['name', 'tool', 'tool_name', 'function'];

/** The maximum number of wrapper layers that are removed. */
const MAX_LAYERS = 4;

/**
 * Returns the arguments of a call as sent, and after removing each layer around them: JSON as text, a list with one item, an object that
 * only labels its single field. `declared`: the names of the tool's arguments. A layer that may be an argument itself is removed only if
 * the same name is below it.
 */
export function unwrapped(name: string, given: JsonValue, declared: ReadonlySet<string>): JsonValue[] {
  const layers: JsonValue[] = [given];
  for (let inner = under(name, given, declared); inner !== undefined && layers.length <= MAX_LAYERS; inner = under(name, inner, declared))
    layers.push(inner);
  return layers;
}

function under(name: string, value: JsonValue, declared: ReadonlySet<string>): JsonValue | undefined {
  if (typeof value === 'string') return jsonInText(value);
  if (Array.isArray(value)) return value.length === 1 ? value[0] : undefined;
  const [key, inner] = onlyField(name, value) ?? [];
  if (key === undefined) return undefined;
  const content = typeof inner === 'string' ? jsonInText(inner) : inner;
  if (content === undefined || !isJsonObject(content)) return undefined;
  const names = Object.keys(content);
  // An undeclared field may be a mistake at any layer: only declared names show which layer is meant.
  const isMeant = names.every((one) => declared.has(one) || one === name || WRAPPERS.includes(one) || LABELS.includes(one));
  return isMeant && (!declared.has(key) || names.includes(key)) ? content : undefined;
}

/** Returns the single field of an object that may only label its content. The tool's name next to it does not count. */
function onlyField(name: string, value: JsonValue): [key: string, inner: JsonValue] | undefined {
  if (!isJsonObject(value)) return undefined;
  const [field, ...others] = Object.entries(value).filter(([key, one]) => !(LABELS.includes(key) && one === name));
  return field !== undefined && others.length === 0 && (field[0] === name || WRAPPERS.includes(field[0])) ? field : undefined;
}

/**
 * True for an object that cannot be the arguments themselves: no argument has the name of its only field, which contains declared arguments
 * or a text that begins like them. A schema without required arguments would accept it, and the tool would run without its content.
 */
function isWrapper(name: string, value: JsonValue, schema: JsonObject): boolean {
  const { additionalProperties = false, patternProperties } = schema;
  const declared = declaredNames(schema);
  const [key, inner] = onlyField(name, value) ?? [];
  if (key === undefined || declared.has(key) || declared.size === 0) return false;
  // The schema allows other names, too.
  if (additionalProperties !== false || patternProperties !== undefined) return false;
  return typeof inner === 'string' ? /^\s*["[{]/.test(inner) : under(name, value, declared) !== undefined;
}

/** Returns the names of all properties of a schema, including those of its choices. */
export function declaredNames(schema: JsonObject, root = schema, level = 0): Set<string> {
  const target = level > MAX_LAYERS ? undefined : dereference(schema, root);
  if (target === undefined) return new Set();
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => subschemas(target, keyword));
  return new Set([...Object.keys(propertiesOf(target)), ...parts.flatMap((part) => [...declaredNames(part, root, level + 1)])]);
}

/**
 * Removes the nulls that stand for omitted fields. They come from strict provider schemas, in which optional fields become nullable
 * (`toStrictJsonSchema`), and from models that fill in every field. `schema`: the schema before that conversion. A null stays if the schema
 * itself accepts null, or if the field is required.
 */
export function removeAddedNulls(schema: JsonObject, value: JsonValue): JsonValue {
  return readValue(schema, value, newReading(schema, value, false));
}

/**
 * Does the same, and reads a text as the JSON in it where the schema accepts that JSON but not the text: `"5"` for a number, `"{\"a\":1}"`
 * for an object. An ambiguous value stays unchanged. The caller checks the result, which may be invalid.
 */
export function readBySchema(schema: JsonObject, value: JsonValue): JsonValue {
  return readValue(schema, value, newReading(schema, value, true));
}

/** The maximum work units for trying choices: the work doubles with every level in a schema that refers to itself in several choices. */
const READING_UNITS = { any: 100_000, perCharacter: 20 };

/** One reading, with its remaining work units. */
interface Reading {
  root: JsonObject;
  /** True if texts are read as the JSON in them. */
  texts: boolean;
  units: number;
}

function newReading(root: JsonObject, value: JsonValue, texts: boolean): Reading {
  return { root, texts, units: READING_UNITS.any + READING_UNITS.perCharacter * JSON.stringify(value).length };
}

function readValue(schema: JsonObject, given: JsonValue, reading: Reading): JsonValue {
  const { root } = reading;
  const target = dereference(schema, root);
  if (target === undefined) return given;
  const value = reading.texts && typeof given === 'string' ? readText(target, given, reading) : given;
  if (typeof value !== 'object' || value === null) return value;
  const choices = [...subschemas(target, 'anyOf'), ...subschemas(target, 'oneOf')];
  if (choices.length > 0) return readByChoice(choices, value, reading);
  const own = Array.isArray(value) ? readList(target, value, reading) : readObject(target, value, reading);
  return subschemas(target, 'allOf').reduce((one: JsonValue, part) => readValue(part, one, reading), own);
}

function readList(schema: JsonObject, value: JsonValue[], reading: Reading): JsonValue[] {
  const { items } = schema;
  const first = subschemas(schema, 'prefixItems');
  return value.map((item, index) => {
    const one = first[index] ?? items;
    return one !== undefined && isJsonObject(one) ? readValue(one, item, reading) : item;
  });
}

function readObject(schema: JsonObject, value: JsonObject, reading: Reading): JsonObject {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const { additionalProperties: others } = schema;
  const entries = Object.entries(value).flatMap(([key, one]): [string, JsonValue][] => {
    const isDeclared = Object.hasOwn(properties, key);
    const property = isDeclared ? properties[key] : others;
    if (property === undefined || !isJsonObject(property)) return [[key, one]];
    if (isDeclared && one === null && !required.includes(key) && !acceptsNull(property, reading.root)) return [];
    return [[key, readValue(property, one, reading)]];
  });
  return Object.fromEntries(entries);
}

/** Reads a value according to its choice. Tries several choices in full only if more than one is plausible. */
function readByChoice(choices: JsonObject[], value: JsonObject | JsonValue[], reading: Reading): JsonValue {
  const { root, texts } = reading;
  const plausible = choices.filter((choice) => mayBe(choice, value, reading));
  const [only] = plausible;
  if (only !== undefined && plausible.length === 1) return readValue(only, value, reading);
  const fitting: JsonValue[] = [];
  for (const choice of plausible) {
    const one = readValue(choice, value, reading);
    if (reading.units < 0) return value;
    if (!fits(wholeSchema(choice, root), one, reading)) continue;
    // For nulls, the first choice counts. For texts, all fitting choices must agree.
    if (!texts) return one;
    fitting.push(one);
  }
  const [first] = fitting;
  if (first === undefined || fitting.some((one) => canonicalJson(one) !== canonicalJson(first))) return value;
  return first;
}

function fits(schema: JsonObject, value: JsonValue, reading: Reading): boolean {
  const problems = checkJson(schema, value);
  reading.units -= 1 + compiledSchema(schema).meter.spent;
  return problems.length === 0;
}

/** False if the type, or a field with a fixed value, rules out the choice. */
function mayBe(choice: JsonObject, value: JsonObject | JsonValue[], { root }: Reading): boolean {
  const target = dereference(choice, root);
  if (target === undefined) return false;
  const types = typesOf(target);
  if (types.length > 0 && !types.includes(Array.isArray(value) ? 'array' : 'object')) return false;
  if (Array.isArray(value)) return true;
  return Object.entries(propertiesOf(target)).every(([key, property]) => {
    if (!isJsonObject(property) || !('const' in property)) return true;
    return Object.hasOwn(value, key) && value[key] === property['const'];
  });
}

/** Complete schemas by their part and the schema that contains it: each is prepared once, not for every value. */
const wholeSchemas = new WeakMap<JsonObject, WeakMap<JsonObject, JsonObject>>();

/** Returns a part of a schema along with the definitions that it refers to. */
function wholeSchema(part: JsonObject, root: JsonObject): JsonObject {
  const byRoot = wholeSchemas.get(part) ?? new WeakMap<JsonObject, JsonObject>();
  wholeSchemas.set(part, byRoot);
  const whole = byRoot.get(root) ?? { ...part, ...defined({ $defs: root['$defs'] }) };
  byRoot.set(root, whole);
  return whole;
}

/** Returns the JSON in a text if the schema accepts its type but not the text; otherwise the text. */
function readText(schema: JsonObject, text: string, reading: Reading): JsonValue {
  const types = acceptedTypes(schema, reading.root);
  if (types === undefined) return text;
  const value = jsonInText(text);
  if (value === undefined || typeof value === 'string' || !isOfTypes(value, types)) return text;
  return types.has('string') && (reading.units < 0 || fits(wholeSchema(schema, reading.root), text, reading)) ? text : value;
}

/** Python's words for constants, which many models use. */
const PYTHON_WORDS: Record<string, JsonValue> = { True: true, False: false, None: null };

/** The maximum digits that a number always preserves. */
const EXACT_DIGITS = 15;

/**
 * Returns the value of a JSON text. Undefined if it is not JSON, or if the value would differ from the text: a number with more digits than
 * can be preserved.
 */
function jsonInText(text: string): JsonValue | undefined {
  const trimmed = text.trim();
  if (Object.hasOwn(PYTHON_WORDS, trimmed)) return PYTHON_WORDS[trimmed];
  const value = parsedJson(trimmed);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && trimmed.replaceAll(/\D/g, '').length > EXACT_DIGITS) return undefined;
  if (isTooDeep(value) || !isKept(value)) return undefined;
  return typeof value === 'number' ? value + 0 : value;
}

/** False for a value that changes when it passes through a history: an infinite number, or an unpaired surrogate. */
function isKept(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, one]) => key.isWellFormed() && isKept(one));
}

/** The maximum levels of nested choices that are followed. */
const MAX_LEVELS = 8;

/** Returns the names of the types that a schema accepts, or undefined if it does not say. */
function acceptedTypes(schema: JsonObject, root: JsonObject, level = 0): Set<string> | undefined {
  const target = level > MAX_LEVELS ? undefined : dereference(schema, root);
  if (target === undefined) return undefined;
  const types = typesOf(target);
  if (types.length > 0) return new Set(types);
  if ('const' in target) return new Set([typeOf(target['const'] ?? null)]);
  if (Array.isArray(target['enum'])) return new Set(target['enum'].map(typeOf));
  const choices = [...subschemas(target, 'anyOf'), ...subschemas(target, 'oneOf')].map((one) => acceptedTypes(one, root, level + 1));
  if (choices.length > 0 && choices.every((one) => one !== undefined)) return new Set(choices.flatMap((one) => [...one]));
  return subschemas(target, 'allOf')
    .map((part) => acceptedTypes(part, root, level + 1))
    .find((one) => one !== undefined);
}

function isOfTypes(value: JsonValue, types: ReadonlySet<string>): boolean {
  return types.has(typeOf(value)) || (Number.isInteger(value) && types.has('integer'));
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
