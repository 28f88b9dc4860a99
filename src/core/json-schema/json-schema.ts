import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';

/** The keywords that contain schemas, as a map, a list or a single one. Values of other keywords (`const`, `enum`, `default`) are data. */
const MAPS = ['properties', 'patternProperties', '$defs'];
export const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
export const SINGLES = ['items', 'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'];

/** Copies a schema and replaces each schema directly inside it. Works in the workflow sandbox. */
export function mapSubschemas(schema: JsonObject, change: (inner: JsonObject) => JsonObject): JsonObject {
  const changed = (value: JsonValue): JsonValue => (isJsonObject(value) ? change(value) : value);
  const entries = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    if (MAPS.includes(keyword) && isJsonObject(value)) return [keyword, mapValues(value, changed)];
    if (LISTS.includes(keyword) && Array.isArray(value)) return [keyword, value.map(changed)];
    return [keyword, SINGLES.includes(keyword) ? changed(value) : value];
  });
  return Object.fromEntries(entries);
}

/** Copies an object and replaces each value. */
export function mapValues(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

/** Returns the schemas in a list keyword (`anyOf`, …), or an empty list. */
export function subschemas(schema: JsonObject, keyword: string): JsonObject[] {
  const value = schema[keyword];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the properties of an object schema, or an empty object. */
export function propertiesOf(schema: JsonObject): JsonObject {
  return isJsonObject(schema['properties']) ? schema['properties'] : {};
}

/** Returns the names of the required properties of an object schema. */
export function requiredOf(schema: JsonObject): string[] {
  const { required } = schema;
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** Returns the types that a schema names, or an empty list. */
export function typesOf({ type }: JsonObject): string[] {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((name) => typeof name === 'string') : [];
}

/** Follows a chain of `$ref` inside `root` to its schema, or returns undefined. */
export function dereference(schema: JsonObject, root: JsonObject): JsonObject | undefined {
  let current: JsonObject | undefined = schema;
  for (let hops = 0; current !== undefined && typeof current['$ref'] === 'string'; hops += 1) {
    if (hops > 50) return undefined;
    current = at(root, current['$ref']);
  }
  return current;
}

/** Follows a local reference such as `#/$defs/node`. */
function at(root: JsonObject, reference: string): JsonObject | undefined {
  // A name (`#node`) is not a pointer.
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let current: JsonValue | undefined = root;
  for (const token of pointerTokens(reference)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return undefined;
    current = Array.isArray(current) ? current[Number(token)] : current[token];
  }
  return current !== undefined && isJsonObject(current) ? current : undefined;
}

/** Returns the tokens of a JSON pointer in URI form (`#/a/b%20c` → `a`, `b c`). */
export function pointerTokens(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => decoded(token).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

export function acceptsNull(schema: JsonObject, root: JsonObject): boolean {
  const target = dereference(schema, root);
  if (target === undefined) return false;
  const types = typesOf(target);
  if (types.length > 0 && !types.includes('null')) return false;
  if ('const' in target && target['const'] !== null) return false;
  if (Array.isArray(target['enum']) && !target['enum'].includes(null)) return false;
  const choices = [...subschemas(target, 'anyOf'), ...subschemas(target, 'oneOf')];
  if (choices.length > 0 && !choices.some((choice) => acceptsNull(choice, root))) return false;
  return subschemas(target, 'allOf').every((part) => acceptsNull(part, root));
}

/** The maximum characters of quoted JSON in a problem. */
const MAX_QUOTED = 60;

/** Returns a value as JSON, shortened if it is long. Reads only the quoted part. */
export function shortJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  const text = beginning(value, MAX_QUOTED);
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}

/**
 * Returns a `shortJson` that quotes each object only once, because listing even the first keys of a large object takes time in proportion
 * to all of them.
 */
export function shortJsonOnce(): typeof shortJson {
  const known = new Map<JsonValue | undefined, string>();
  return (value) => {
    const text = known.get(value) ?? shortJson(value);
    if (typeof value === 'object') known.set(value, text);
    return text;
  };
}

/** Returns the JSON of a value, or a beginning of it longer than `room` characters. */
function beginning(value: JsonValue, room: number): string {
  // JSON is never shorter than the text, and an escape split by the cut comes after the quoted part.
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room + 1));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing';
  const isList = Array.isArray(value);
  const members: Iterable<[string | number, JsonValue | undefined]> = isList ? value.entries() : Object.entries(value);
  let text = isList ? '[' : '{';
  for (const [key, member] of members) {
    if (member === undefined && !isList) continue;
    if (text.length > 1) text += ',';
    if (typeof key === 'string') text += `${beginning(key, room)}:`;
    text += beginning(member ?? null, Math.max(0, room - text.length));
    if (text.length > room) return text;
  }
  return `${text}${isList ? ']' : '}'}`;
}

/** Returns the schema of an object with one member, whose schema has its references to the root moved along. */
export function objectWith(name: string, schema: JsonObject): JsonObject {
  return { type: 'object', properties: { [name]: rebased(schema, `#/properties/${name}`) }, required: [name] };
}

function rebased(schema: JsonObject, root: string): JsonObject {
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue] =>
    key === '$ref' && typeof value === 'string' && value.startsWith('#') ? [key, root + value.slice(1)] : [key, rebasedValue(value, root)],
  );
  return Object.fromEntries(entries);
}

function rebasedValue(value: JsonValue, root: string): JsonValue {
  if (Array.isArray(value)) return value.map((one) => rebasedValue(one, root));
  return isJsonObject(value) ? rebased(value, root) : value;
}
