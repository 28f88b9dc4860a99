import { isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json/json.ts';
import { acceptsNull, mapValues, propertiesOf, requiredOf, subschemas, typesOf } from '../core/json-schema/json-schema.ts';
import { toProviderJsonSchema, withNotes } from './provider-json-schema.ts';

/** A schema in the strict subset, or the first reason why there is none. */
export type StrictConversion = { strict: true; schema: JsonObject } | { strict: false; problem: string };

/** What the strict subset takes. Every other keyword is either said in the description, dropped, or a reason to refuse. */
const KEPT = new Set(
  'type title description enum const pattern format minItems maxItems multipleOf minimum maximum exclusiveMinimum exclusiveMaximum'.split(
    ' ',
  ),
);

/** Keywords that change what fits and have no counterpart. */
const REFUSED = new Map([
  ['prefixItems', 'a tuple'],
  ['patternProperties', 'a record'],
  ['propertyNames', 'a record'],
  ['allOf', 'an intersection'],
  ['not', 'a negation'],
  ['if', 'a condition'],
  ['contains', 'a condition on items'],
  ['contentEncoding', 'binary content'],
]);

/** Limits of the strict subset. */
const MAX_DEPTH = 10;
const MAX_PROPERTIES = 5_000;

/** Where a conversion is, and what it has found so far. */
interface Place {
  root: JsonObject;
  found: { problems: string[]; properties: number };
  /** `.list[].when` */
  path: string;
  depth: number;
}

/**
 * Converts a JSON Schema to the strict subset that a provider enforces while the model writes: every field is
 * required, nothing else is allowed, an optional field becomes nullable (`removeAddedNulls` takes those nulls out
 * again). Refuses what the subset cannot say: records, tuples, open objects, values of any type, unions at the root.
 */
export function toStrictJsonSchema(schema: JsonObject): StrictConversion {
  if (!isObjectSchema(schema)) return { strict: false, problem: 'the root is not an object' };
  return toStrictPart(schema);
}

/** The same for a schema that is not the root of what the provider is sent: it may be of any type. */
export function toStrictPart(schema: JsonObject): StrictConversion {
  const place: Place = { root: schema, found: { problems: [], properties: 0 }, path: '', depth: 0 };
  const converted = convert(toProviderJsonSchema(schema), place);
  const { problems, properties } = place.found;
  if (properties > MAX_PROPERTIES) problems.push(`it has more than ${MAX_PROPERTIES} fields`);
  const [problem] = problems;
  return problem === undefined ? { strict: true, schema: converted } : { strict: false, problem };
}

/** True for the schema of an object and nothing else. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema['type'] === 'object';
}

function convert(schema: JsonObject, place: Place): JsonObject {
  const { $defs } = schema;
  const isRoot = place.path === '' && place.depth === 0;
  const defined = isRoot && $defs !== undefined && isJsonObject($defs) ? { $defs: convertDefinitions($defs, place) } : {};
  if (typeof schema['$ref'] === 'string') return { $ref: schema['$ref'], ...defined };

  for (const keyword of Object.keys(schema)) refuse(REFUSED.get(keyword), place);
  if (place.depth > MAX_DEPTH) refuse(`nested deeper than ${MAX_DEPTH} levels`, place);
  const choices = [...subschemas(schema, 'anyOf'), ...subschemas(schema, 'oneOf')];
  const types = typesOf(schema);
  if (choices.length === 0 && types.length === 0 && !isFixed(schema)) refuse('of any type', place);

  return {
    ...plainKeywords(schema),
    ...(choices.length > 0 ? { anyOf: choices.map((choice) => convert(choice, { ...place, depth: place.depth + 1 })) } : {}),
    ...(types.includes('object') ? convertObject(schema, place) : {}),
    ...(types.includes('array') ? { items: convertInner(schema['items'], place, '[]') } : {}),
    ...defined,
  };
}

function refuse(what: string | undefined, { path, found }: Place): void {
  if (what !== undefined) found.problems.push(`${path === '' ? 'the root' : `"${path.replace(/^\./, '')}"`} is ${what}`);
}

function convertInner(schema: JsonValue | undefined, place: Place, step: string): JsonObject {
  const inner = { ...place, path: `${place.path}${step}`, depth: place.depth + 1 };
  return convert(schema !== undefined && isJsonObject(schema) ? schema : {}, inner);
}

/** Definitions may be used anywhere: each one counts its own depth. */
function convertDefinitions(definitions: JsonObject, place: Place): JsonObject {
  return mapValues(definitions, (one, name) => convertInner(one, place, `.${name}`));
}

function convertObject(schema: JsonObject, place: Place): JsonObject {
  const { additionalProperties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== false) refuse('open to fields without a name', place);
  const required = requiredOf(schema);
  const properties = propertiesOf(schema);
  place.found.properties += Object.keys(properties).length;
  return {
    properties: mapValues(properties, (property, key) => {
      const converted = convertInner(property, place, `.${key}`);
      if (required.includes(key) || (isJsonObject(property) && acceptsNull(property, place.root))) return converted;
      return orNull(converted);
    }),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

/** The keywords that stay as they are, and a note for the model about those that the subset lacks. */
function plainKeywords(schema: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEPT.has(keyword)));
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

function typesOfValues(schema: JsonObject): JsonValue {
  const values = Array.isArray(schema['enum']) ? schema['enum'] : [schema['const'] ?? null];
  const [first = 'null', ...others] = new Set(values.map((value) => (value === null ? 'null' : typeof value)));
  return others.length === 0 ? first : [first, ...others];
}

/** The schema, or null. */
function orNull(schema: JsonObject): JsonObject {
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], { type: 'null' }] };
  if ('$ref' in schema || 'const' in schema || 'properties' in schema) {
    const { description, ...rest } = schema;
    return { anyOf: [rest, { type: 'null' }], ...(description === undefined ? {} : { description }) };
  }
  const nullable = { ...schema, type: [...typesOf(schema), 'null'] };
  return Array.isArray(schema['enum']) ? { ...nullable, enum: [...schema['enum'], null] } : nullable;
}
