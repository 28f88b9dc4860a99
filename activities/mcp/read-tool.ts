import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { dereference, LISTS, mapSubschemas, mapValues, typesOf } from '../../src/core/json-schema/json-schema.ts';
import { cleanJson } from '../../src/model/parse-json.ts';

/** A usable tool of a server. */
export interface ReadTool {
  /** The server's name. */
  name: string;
  description: string;
  /** The schema of its arguments, which is an object schema. */
  input: JsonObject;
  /** The schema of its structured results, if it has a checkable one. */
  output?: JsonObject;
  /** True if the server says that a call may run again. */
  isRepeatable: boolean;
  /** The changes to the server's description, for a person: each continues "tool … ". */
  changes: string[];
  problem?: never;
}

/** An unusable tool, and why. */
interface UnusableTool {
  name: string;
  problem: string;
}

/** Marks the end of a list that was not read completely. */
export const FURTHER_TOOLS = Symbol('further tools');

/** The longest name of a tool, in characters. Providers get a shorter one. */
const MAX_NAME = 256;

/** Returns the name of an entry in a server's list; undefined for an entry without a name. */
export function nameOfTool(listed: unknown): string | undefined {
  if (!isJsonObject(listed)) return undefined;
  const { name } = listed;
  return typeof name === 'string' && name.trim() !== '' ? name : undefined;
}

/** Tools by their entry in the list: a connection lists tools rarely and calls them often. */
const readTools = new WeakMap<object, ReadTool | UnusableTool>();

/** Reads one tool of a server's list. Its unreadable parts do not affect other tools. */
export function readTool(listed: JsonObject, name: string): ReadTool | UnusableTool {
  const before = readTools.get(listed);
  if (before !== undefined) return before;
  const read = judgeTool(listed, name);
  readTools.set(listed, read);
  return read;
}

function judgeTool(listed: JsonObject, name: string): ReadTool | UnusableTool {
  if (name.length > MAX_NAME) return { name, problem: `its name has ${name.length} characters, over ${MAX_NAME}` };
  if (!name.isWellFormed()) return { name, problem: 'its name is not well-formed text' };
  const { description, title, annotations, inputSchema, outputSchema } = listed;
  const usable = usableSchema(inputSchema);
  if (usable.schema === undefined) return { name, problem: usable.problem };
  const changes = usable.change === undefined ? [] : [usable.change];
  const texts = [description, title].filter((text): text is string => typeof text === 'string' && text.trim() !== '');
  if (isOdd(description, 'string')) changes.push('has a description that is not a text: its name stands for it');
  const hints = hintsOf(annotations, changes);
  const output = outputOf(outputSchema);
  return {
    name,
    description: (texts[0] ?? name).toWellFormed(),
    input: usable.schema,
    ...defined({ output }),
    isRepeatable: hints.some((hint) => hint === true),
    changes,
  };
}

/** Returns the hints that make a call repeatable. Only booleans count: a call that is repeated by mistake acts twice. */
function hintsOf(annotations: unknown, changes: string[]): unknown[] {
  if (annotations === undefined || annotations === null) return [];
  if (!isJsonObject(annotations)) {
    changes.push('has annotations that are not an object: they are ignored');
    return [];
  }
  const names = ['readOnlyHint', 'idempotentHint'] as const;
  for (const name of names) {
    if (isOdd(annotations[name], 'boolean'))
      changes.push(`has the annotation ${name} with a value that is not true or false: it is ignored`);
  }
  return names.map((name) => annotations[name]);
}

function isOdd(value: unknown, type: 'string' | 'boolean'): boolean {
  return value !== undefined && value !== null && typeof value !== type;
}

/** Returns the schema of structured results. An invalid one checks nothing. */
function outputOf(given: unknown): JsonObject | undefined {
  const schema = cleanJson(given ?? null);
  return schema !== undefined && isJsonObject(schema) && Object.keys(schema).length > 0 ? tidySchema(schema) : undefined;
}

/** The usable input schema of a tool, or the reason why there is none. */
type UsableSchema =
  /** `change`: a note for a person about a schema that was not an object schema. */
  { schema: JsonObject; change?: string; problem?: never } | { problem: string; schema?: never };

/** Type names of other languages and dialects. */
const TYPE_NAMES: Partial<Record<string, string>> = {
  str: 'string',
  text: 'string',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  bool: 'boolean',
  dict: 'object',
  map: 'object',
  struct: 'object',
  list: 'array',
  tuple: 'array',
  none: 'null',
};

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** The keywords whose values are data: null is a value there, not an omitted keyword. */
const DATA = ['const', 'enum', 'default', 'examples', 'example'];

/** The keywords that hold schemas by name, in a list, or a single one. */
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const SINGLES = ['items', 'additionalProperties', 'additionalItems', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'];

/** Keywords that must be a whole number, or a number. */
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'];
const NUMBERS = ['minimum', 'maximum', 'multipleOf'];

/**
 * Reads the input schema of a tool as servers write it. Other values are taken as an object schema if the meaning is clear: nothing means
 * any arguments, a text is read as JSON, an empty list is an empty object (as PHP writes it).
 */
export function usableSchema(given: unknown): UsableSchema {
  const value = cleanJson(given ?? null);
  if (value === undefined) return { problem: 'its input schema is nested too deep' };
  if (value === null) return { schema: anyArguments(), change: 'has no input schema: it takes any arguments' };
  if (value === true) return { schema: anyArguments(), change: 'has the input schema true: it takes any arguments' };
  if (typeof value === 'string') return schemaOfText(value);
  if (Array.isArray(value) && value.length === 0)
    return { schema: anyArguments(), change: 'has an empty list as input schema: it takes any arguments' };
  if (!isJsonObject(value)) return { problem: `its input schema is ${kindOf(value)} instead of an object` };
  if (Object.keys(value).length === 0) return { schema: anyArguments(), change: 'has an empty input schema: it takes any arguments' };
  return objectSchema(tidySchema(value));
}

function anyArguments(): JsonObject {
  return { type: 'object' };
}

function schemaOfText(text: string): UsableSchema {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isJsonObject(parsed)) return { problem: 'its input schema is a text that is not the JSON of a schema' };
    const usable = usableSchema(parsed);
    return usable.schema === undefined
      ? usable
      : { ...usable, change: usable.change ?? 'has its input schema as a text, which is read as JSON' };
  } catch {
    return { problem: 'its input schema is a text that is not JSON' };
  }
}

/** Returns the schema as an object schema, because a tool's arguments are always an object. */
function objectSchema(schema: JsonObject): UsableSchema {
  const { type } = schema;
  if (type === 'object') return { schema };
  if (Array.isArray(type)) {
    if (!type.includes('object'))
      return { problem: `its input schema is of the types ${typesOf(schema).join(', ')}, and arguments are always an object` };
    return {
      schema: { ...schema, type: 'object' },
      change: `has an input schema of the types ${typesOf(schema).join(', ')}: it is used as the schema of an object`,
    };
  }
  if (typeof type === 'string') return { problem: `its input schema is of the type "${type}", and arguments are always an object` };
  const target = typeof schema['$ref'] === 'string' ? dereference(schema, schema) : schema;
  if (target === undefined) return { schema: anyArguments(), change: 'has an input schema that refers to nothing: it takes any arguments' };
  if (target !== schema) {
    const found = objectSchema(target);
    if (found.schema === undefined) return found;
    const { $ref: _reference, ...own } = schema;
    return { schema: { ...own, ...found.schema }, change: 'has a reference as input schema: the referenced schema is used' };
  }
  return { schema: { ...schema, type: 'object' }, change: 'has an input schema without a type: it is used as the schema of an object' };
}

/** Returns a schema without keywords that have invalid values: null stands for an omitted keyword. */
function tidySchema(schema: JsonObject): JsonObject {
  const tidy: JsonObject = {};
  const required: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const kept = tidyValue(keyword, value);
    if (kept !== undefined) tidy[keyword] = kept;
  }
  const { properties } = schema;
  if (isJsonObject(properties)) {
    // Draft 3 has `required` on the property.
    for (const [name, one] of Object.entries(properties)) if (isJsonObject(one) && one['required'] === true) required.push(name);
  }
  if (required.length > 0) tidy['required'] = [...new Set([...listOfTexts(tidy['required']), ...required])];
  return tidy;
}

function tidyValue(keyword: string, value: JsonValue): JsonValue | undefined {
  if (keyword === 'enum') return Array.isArray(value) && value.length > 0 ? value : undefined;
  if (DATA.includes(keyword)) return value;
  if (value === null) return undefined;
  if (keyword === 'type') return typeName(value);
  if (keyword === 'required') return Array.isArray(value) ? [...new Set(listOfTexts(value))] : undefined;
  if (MAPS.includes(keyword))
    return isJsonObject(value) ? mapValues(value, tidySubschema) : Array.isArray(value) && value.length === 0 ? {} : undefined;
  if (keyword === 'items' && Array.isArray(value)) return value.length === 0 ? undefined : value.map(tidySubschema);
  if (LISTS.includes(keyword)) return Array.isArray(value) && value.length > 0 ? value.map(tidySubschema) : undefined;
  if (SINGLES.includes(keyword)) return typeof value === 'boolean' ? value : tidySubschema(value);
  if (COUNTS.includes(keyword)) return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  if (keyword === 'multipleOf' && typeof value === 'number' && value <= 0) return undefined;
  if (NUMBERS.includes(keyword)) return typeof value === 'number' ? value : undefined;
  if (keyword.startsWith('exclusive')) return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
  if (['description', 'title', 'format', 'pattern', '$ref'].includes(keyword)) return typeof value === 'string' ? value : undefined;
  return value;
}

/** Returns a nested schema: a type name stands for the type, and an invalid schema accepts anything. */
function tidySubschema(value: JsonValue): JsonValue {
  if (isJsonObject(value)) return tidySchema(value);
  if (typeof value === 'boolean') return value;
  const type = typeof value === 'string' ? typeName(value) : undefined;
  return defined({ type });
}

function typeName(value: JsonValue): JsonValue | undefined {
  const names = (Array.isArray(value) ? value : [value]).map((one) => {
    if (typeof one !== 'string') return one === null ? 'null' : undefined;
    const name = one.toLowerCase();
    return TYPES.includes(name) ? name : Object.hasOwn(TYPE_NAMES, name) ? TYPE_NAMES[name] : undefined;
  });
  const known = [...new Set(names.filter((name) => name !== undefined))];
  // A list with an unknown type, such as `any`, accepts more than its other types.
  if (known.length === 0 || names.includes(undefined)) return undefined;
  return Array.isArray(value) && known.length > 1 ? known : known[0];
}

function listOfTexts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function kindOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'a text' : `the ${typeof value} ${JSON.stringify(value)}`;
}

/** A schema that accepts any object: only the server checks the arguments then. */
const ANY_OBJECT: JsonObject = { type: 'object' };

/**
 * Returns a server's schema in a form that can be checked anywhere: in the keywords of draft 2020-12, and without
 * patterns, since a regular expression can run for hours, and the workflow checks too. The server checks the omitted
 * parts. A schema with unresolvable or circular references becomes a schema for any object.
 */
export function checkableSchema(schema: JsonObject): JsonObject {
  const modern = modernSchema(schema);
  if (!references(modern).every((reference) => dereference({ $ref: reference }, modern) !== undefined)) return ANY_OBJECT;
  const plain = withoutPatterns(modern);
  return checkJson(plain, {}).some(({ message }) => message.startsWith('the value could not be checked')) ? ANY_OBJECT : plain;
}

/** Rewrites keywords of older drafts as those of draft 2020-12. */
export function modernSchema(schema: JsonObject): JsonObject {
  const { $schema: _dialect, $id: _id, definitions, ...rest } = schema;
  const moved = definitions === undefined ? rest : { ...rest, $defs: { ...objectOf(definitions), ...objectOf(rest['$defs']) } };
  return modernWords(moved);
}

/** Returns every `$ref` of a schema, each once. */
export function references(schema: JsonObject): string[] {
  const found = new Set<string>();
  const collect = (inner: JsonObject): JsonObject => {
    const { $ref } = inner;
    if (typeof $ref === 'string') found.add($ref);
    return mapSubschemas(inner, collect);
  };
  collect(schema);
  return [...found];
}

function modernWords(schema: JsonObject): JsonObject {
  const { additionalItems, dependencies: _dependencies, ...rest } = schema;
  const words = Array.isArray(rest['items']) ? { ...rest, prefixItems: rest['items'], items: additionalItems ?? true } : rest;
  return Object.fromEntries(
    Object.entries(mapSubschemas(words, modernWords))
      // Booleans of draft 4, which only modify `minimum` and `maximum`.
      .filter(([keyword, value]) => !(keyword.startsWith('exclusive') && typeof value === 'boolean'))
      .map(([keyword, value]) => [keyword, keyword === '$ref' ? modernReference(value) : value]),
  );
}

function modernReference(reference: JsonValue): JsonValue {
  return typeof reference === 'string' ? reference.replace(/^#\/definitions\//, '#/$defs/') : reference;
}

function withoutPatterns(schema: JsonObject): JsonObject {
  const { pattern: _pattern, patternProperties, additionalProperties, ...rest } = mapSubschemas(schema, withoutPatterns);
  // Without the patterns, additional properties cannot be distinguished.
  return patternProperties !== undefined || additionalProperties === undefined ? rest : { ...rest, additionalProperties };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}
