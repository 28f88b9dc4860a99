import type { ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { checkJson, problemsText } from './check-json-schema.ts';
import { dereference, propertiesOf, subschemas } from './json-schema.ts';
import { jsonInText, readBySchema, removeAddedNulls } from './read-by-schema.ts';

/** The arguments of a call as they are recorded, with the reason why the call must not run, if there is one. */
export interface CheckedArguments {
  args: JsonObject;
  problem?: string;
}

/** Checks the arguments of a call against the schema of its tool, as they are. */
export function checkArguments({ name, schema }: Pick<ToolSnapshot, 'name' | 'schema'>, args: JsonObject): CheckedArguments {
  const problems = checkJson(schema, args);
  return problems.length === 0 ? { args } : { args, problem: invalidArguments(name, problemsText(problems)) };
}

/**
 * Checks what a model sent as the arguments of a call against the schema of its tool. What fits stays as it is. Otherwise nulls that
 * stand for omitted arguments are removed; and arguments in another form (JSON as text, wrapped in `{"arguments": …}`) are read if
 * exactly one reading of them fits. The arguments that are returned are those that run.
 */
export function readArguments({ name, schema }: Pick<ToolSnapshot, 'name' | 'schema'>, given: JsonValue): CheckedArguments {
  if (isJsonObject(given) && checkJson(schema, given).length === 0) return { args: given };
  const plain = isJsonObject(given) ? (removeAddedNulls(schema, given) as JsonObject) : undefined;
  const problems = plain === undefined ? [] : checkJson(schema, plain);
  if (plain !== undefined && problems.length === 0) return { args: plain };
  const read = onlyOne(unwrapped(name, given, declaredNames(schema)).flatMap((root) => fittingObject(schema, root)));
  if (read !== undefined) return { args: read };
  if (plain === undefined) return { args: {}, problem: invalidArguments(name, `expected object, got ${kindOf(given)}`) };
  return { args: plain, problem: invalidArguments(name, problemsText(problems)) };
}

/** Returns the problem of a call whose arguments do not fit, for the model or for code. */
export function invalidArguments(name: string, problem: string): string {
  return `Invalid arguments for '${name}': ${problem}`;
}

function fittingObject(schema: JsonObject, root: JsonValue): JsonObject[] {
  if (!isJsonObject(root)) return [];
  const read = readBySchema(schema, root);
  return isJsonObject(read) && checkJson(schema, read).length === 0 ? [read] : [];
}

/** Returns the value of all readings if they are the same one; undefined if there is none, or more than one. */
export function onlyOne<Value extends JsonValue>(readings: readonly Value[]): Value | undefined {
  const [first, ...others] = readings;
  if (first === undefined) return undefined;
  const text = canonicalJson(first);
  return others.every((one) => canonicalJson(one) === text) ? first : undefined;
}

/** The fields in which models wrap the arguments of a call, beside the name of its tool. */
const WRAPPERS: readonly string[] = ['arguments', 'args', 'parameters', 'params', 'input', 'tool_input', 'kwargs'];

/** The fields in which they name the tool beside them. */
const LABELS: readonly string[] = ['name', 'tool', 'tool_name', 'function'];

/** Layers of wrappers that are taken off. */
const MAX_LAYERS = 4;

/**
 * Returns the arguments of a call as they were sent, and as they are under each layer around them: JSON as text, a list of one, an
 * object that only says what its one field is. `declared`: the names of the arguments that the tool has. A layer that may be an argument
 * itself is taken off only if the same name is below it.
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
  if (!isJsonObject(value)) return undefined;
  const others = Object.entries(value).filter(([key, one]) => !(LABELS.includes(key) && one === name));
  const [field] = others;
  if (field === undefined || others.length !== 1) return undefined;
  const [key, inner] = field;
  if (key !== name && !WRAPPERS.includes(key)) return undefined;
  const content = typeof inner === 'string' ? jsonInText(inner) : inner;
  if (content === undefined || !isJsonObject(content)) return undefined;
  const names = Object.keys(content);
  // What the schema does not declare may be wrong at any layer: only declared names show which one is meant.
  const isMeant = names.every((one) => declared.has(one) || one === name || WRAPPERS.includes(one) || LABELS.includes(one));
  return isMeant && (!declared.has(key) || names.includes(key)) ? content : undefined;
}

/** Returns the names of all properties of a schema, also of those of its choices. */
export function declaredNames(schema: JsonObject, root = schema, level = 0): Set<string> {
  const target = level > MAX_LAYERS ? undefined : dereference(schema, root);
  if (target === undefined) return new Set();
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => subschemas(target, keyword));
  return new Set([...Object.keys(propertiesOf(target)), ...parts.flatMap((part) => [...declaredNames(part, root, level + 1)])]);
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
