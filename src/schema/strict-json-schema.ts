import { UsageError } from '../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { acceptsNull, mapValues, propertiesOf, requiredOf, subschemas, typesOf } from '../core/json-schema/json-schema.ts';
import { PORTABLE_NAME, portableSchema, toProviderJsonSchema, withNotes } from './portable-schema.ts';

/** A schema in the strict subset, or the first reason why that is impossible. */
type StrictConversion = { strict: true; schema: JsonObject } | { strict: false; problem: string };

/**
 * The keywords that the strict subset accepts. All others are described in the description, dropped, or a reason to
 * refuse.
 */
const KEPT_KEYWORDS = new Set(
  'type title description enum const pattern format minItems maxItems multipleOf minimum maximum exclusiveMinimum exclusiveMaximum'.split(
    ' ',
  ),
);

/** Keywords that change which values are valid and that the subset cannot express. */
const REFUSED_KEYWORDS = new Map([
  ['prefixItems', 'a tuple'],
  ['patternProperties', 'a record'],
  ['propertyNames', 'a record'],
  ['allOf', 'an intersection'],
  ['not', 'a negation'],
  ['if', 'a condition'],
  ['contains', 'a condition on items'],
  ['contentEncoding', 'binary content'],
]);

/** Keywords that a provider refuses at the root. */
const ROOT_UNIONS = ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'];

/** Limits of the strict subset. */
const MAX_DEPTH = 10;
const MAX_PROPERTIES = 5_000;

/** The position of a conversion in the schema, and its findings so far. */
interface Position {
  root: JsonObject;
  found: { problems: string[]; properties: number };
  /** The path in the schema, such as `.list[].when`. */
  path: string;
  depth: number;
}

/**
 * Converts a JSON Schema to the strict subset that a provider enforces while the model writes: every field is
 * required, no others are allowed, and an optional field becomes nullable (`removeAddedNulls` removes those nulls
 * again). Refuses schemas that the subset cannot express: records, tuples, open objects, values of any type, unions
 * at the root.
 */
export function toStrictJsonSchema(schema: JsonObject): StrictConversion {
  if (!isObjectSchema(schema)) return { strict: false, problem: 'the root is not an object' };
  const union = ROOT_UNIONS.find((keyword) => schema[keyword] !== undefined);
  if (union !== undefined) return { strict: false, problem: `the root has "${union}"` };
  return toStrictPart(schema);
}

/** As `toStrictJsonSchema`, for a schema that is not the root of the schema sent to the provider: it may have any type. */
export function toStrictPart(schema: JsonObject): StrictConversion {
  const position: Position = { root: schema, found: { problems: [], properties: 0 }, path: '', depth: 0 };
  const converted = convert(toProviderJsonSchema(schema), position);
  const { problems, properties } = position.found;
  if (properties > MAX_PROPERTIES) problems.push(`it has more than ${MAX_PROPERTIES} fields`);
  const [problem] = problems;
  return problem === undefined ? { strict: true, schema: converted } : { strict: false, problem };
}

/** True for the schema of an object, without other types. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema['type'] === 'object';
}

function convert(schema: JsonObject, position: Position): JsonObject {
  const { $defs } = schema;
  const isRoot = position.path === '' && position.depth === 0;
  const defined = isRoot && $defs !== undefined && isJsonObject($defs) ? { $defs: convertDefinitions($defs, position) } : {};
  if (typeof schema['$ref'] === 'string') return { $ref: schema['$ref'], ...defined };

  for (const keyword of Object.keys(schema)) refuse(REFUSED_KEYWORDS.get(keyword), position);
  if (valuesOf(schema).some((value) => typeof value === 'object' && value !== null)) refuse('a fixed object or list', position);
  if (position.depth > MAX_DEPTH) refuse(`nested deeper than ${MAX_DEPTH} levels`, position);
  const choices = [...subschemas(schema, 'anyOf'), ...subschemas(schema, 'oneOf')];
  const types = typesOf(schema);
  if (choices.length === 0 && types.length === 0 && !isFixed(schema)) refuse('of any type', position);

  return {
    ...plainKeywords(schema),
    ...(choices.length > 0 ? { anyOf: choices.map((choice) => convert(choice, { ...position, depth: position.depth + 1 })) } : {}),
    ...(types.includes('object') ? convertObject(schema, position) : {}),
    ...(types.includes('array') ? { items: convertInner(schema['items'], position, '[]') } : {}),
    ...defined,
  };
}

function refuse(what: string | undefined, { path, found }: Position): void {
  if (what !== undefined) found.problems.push(`${path === '' ? 'the root' : `"${path.replace(/^\./, '')}"`} is ${what}`);
}

function convertInner(schema: JsonValue | undefined, position: Position, step: string): JsonObject {
  const inner = { ...position, path: `${position.path}${step}`, depth: position.depth + 1 };
  return convert(schema !== undefined && isJsonObject(schema) ? schema : {}, inner);
}

/** Converts the definitions. Each counts its own depth, because it may be used anywhere. */
function convertDefinitions(definitions: JsonObject, position: Position): JsonObject {
  return mapValues(definitions, (one, name) => convertInner(one, position, `.${name}`));
}

function convertObject(schema: JsonObject, position: Position): JsonObject {
  const { additionalProperties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== false) refuse('open to fields without a name', position);
  const required = requiredOf(schema);
  const properties = propertiesOf(schema);
  if (!Object.keys(properties).every((name) => PORTABLE_NAME.test(name)))
    refuse('an object with the name of a field that not every provider takes', position);
  position.found.properties += Object.keys(properties).length;
  return {
    properties: mapValues(properties, (property, key) => {
      const converted = convertInner(property, position, `.${key}`);
      if (required.includes(key) || (isJsonObject(property) && acceptsNull(property, position.root))) return converted;
      return orNull(converted);
    }),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

/** Returns the keywords that stay unchanged, and notes for the model about those that the subset lacks. */
function plainKeywords(schema: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEPT_KEYWORDS.has(keyword)));
  if (isFixed(schema) && kept['type'] === undefined) kept['type'] = typesOfValues(schema);
  const notes: string[] = [];
  if (typeof schema['minLength'] === 'number') notes.push(`at least ${schema['minLength']} characters`);
  if (typeof schema['maxLength'] === 'number') notes.push(`at most ${schema['maxLength']} characters`);
  if (schema['default'] !== undefined) notes.push(`default: ${JSON.stringify(schema['default'])}`);
  return withNotes(kept, notes);
}

function isFixed(schema: JsonObject): boolean {
  return 'const' in schema || 'enum' in schema;
}

/** Returns the values that a schema lists, or an empty list. */
function valuesOf(schema: JsonObject): JsonValue[] {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  return 'const' in schema ? [schema['const'] ?? null] : [];
}

function typesOfValues(schema: JsonObject): JsonValue {
  const [first = 'null', ...others] = new Set(valuesOf(schema).map((value) => (value === null ? 'null' : typeof value)));
  return others.length === 0 ? first : [first, ...others];
}

/** Returns a schema that also accepts null. */
function orNull(schema: JsonObject): JsonObject {
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], { type: 'null' }] };
  if ('$ref' in schema || 'const' in schema || 'properties' in schema) {
    const { description, ...rest } = schema;
    return { anyOf: [rest, { type: 'null' }], ...(description === undefined ? {} : { description }) };
  }
  const nullable = { ...schema, type: [...typesOf(schema), 'null'] };
  return Array.isArray(schema['enum']) ? { ...nullable, enum: [...schema['enum'], null] } : nullable;
}

/** A schema in the form for a provider. */
interface ProviderSchema {
  readonly providerSchema: JsonObject;
  readonly strict: boolean;
  /** The reason why the schema is not in the strict subset. */
  readonly strictProblem?: string;
}

/**
 * Chooses between the strict form and the plain one. Strict is the default if the schema has a strict form; otherwise only
 * Longhaul validates. `wanted: true` requires it: then a UsageError says why the schema has no strict form.
 */
export function providerSchema(
  owner: string,
  schema: JsonObject,
  conversion: StrictConversion,
  wanted: boolean | undefined,
): ProviderSchema {
  if (conversion.strict && wanted !== false) return { providerSchema: conversion.schema, strict: true };
  const plain = { providerSchema: portableSchema(schema), strict: false };
  if (conversion.strict) return plain;
  if (wanted !== true) return { ...plain, strictProblem: conversion.problem };
  throw new UsageError(`${owner} cannot be strict: ${conversion.problem}. Change the schema, or leave "strict" out`);
}
