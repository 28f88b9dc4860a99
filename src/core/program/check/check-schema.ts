import { compiles } from '../../json-schema/compiled-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberPath } from '../../domain/json.ts';
import { checkJson } from '../../json-schema/check-json-schema.ts';
import { dereference, mapSubschemas, propertiesOf, SINGLES, subschemas } from '../../json-schema/json-schema.ts';
import { type Problems, quoted } from './problems.ts';

/** Checks that a value of the document is a JSON Schema that can be applied. A value that is not an object already has a problem. */
export function checkSchema(value: JsonValue | undefined, path: string, problems: Problems): void {
  if (value === undefined || !isJsonObject(value)) return;
  addJsonProblems(SCHEMA_SCHEMA, { value, path }, problems);
  for (const schema of schemasIn(value)) {
    const { $ref, pattern } = schema;
    if (typeof $ref === 'string' && !leadsSomewhere(schema, value)) problems.add(path, `the "$ref" ${quoted($ref)} leads to no schema`);
    if (typeof pattern === 'string' && !compiles(pattern)) problems.add(path, `the pattern ${quoted(pattern)} is not a regular expression`);
    for (const key of keysOf(schema['patternProperties'])) {
      if (!compiles(key)) problems.add(path, `the pattern ${quoted(key)} is not a regular expression`);
    }
  }
}

/** Checks the schema of a condition. The workflow applies it, which must be fast, so patterns are not allowed. */
export function checkConditionSchema(value: JsonValue | undefined, path: string, problems: Problems): void {
  checkSchema(value, path, problems);
  if (value === undefined || !isJsonObject(value)) return;
  const keyword = schemasIn(value).flatMap((schema) => ['pattern', 'patternProperties'].filter((name) => name in schema))[0];
  if (keyword !== undefined) problems.add(path, `a condition cannot have "${keyword}": compare with "const", "enum" or bounds`);
}

/** Checks the schema of a condition, if there is one. */
export function checkCondition(condition: JsonValue | undefined, path: string, problems: Problems): void {
  if (condition !== undefined && isJsonObject(condition)) checkConditionSchema(condition['is'], `${path}.is`, problems);
}

/** Lists a schema and all schemas inside it. */
function schemasIn(root: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  const open = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    found.push(schema);
    mapSubschemas(schema, (inner) => {
      open.push(inner);
      return inner;
    });
  }
  return found;
}

function leadsSomewhere(schema: JsonObject, root: JsonObject): boolean {
  try {
    return dereference(schema, root) !== undefined;
  } catch {
    return false;
  }
}

function keysOf(value: JsonValue | undefined): string[] {
  return value !== undefined && isJsonObject(value) ? Object.keys(value) : [];
}

const INNER: JsonObject = { $ref: '#/$defs/schema' };
const MAP: JsonObject = { type: 'object', additionalProperties: INNER };
const LIST: JsonObject = { type: 'array', items: INNER, minItems: 1 };
const COUNT: JsonObject = { type: 'integer', minimum: 0 };
const NUMBER: JsonObject = { type: 'number' };
const TYPE: JsonObject = { enum: ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'] };

const PROPERTIES: JsonObject = {
  type: { anyOf: [TYPE, { type: 'array', items: TYPE, minItems: 1 }] },
  enum: { type: 'array', minItems: 1 },
  properties: MAP,
  patternProperties: MAP,
  $defs: MAP,
  dependentSchemas: MAP,
  ...Object.fromEntries(SINGLES.map((keyword) => [keyword, INNER])),
  anyOf: LIST,
  oneOf: LIST,
  allOf: LIST,
  prefixItems: LIST,
  required: { type: 'array', items: { type: 'string' } },
  minimum: NUMBER,
  maximum: NUMBER,
  exclusiveMinimum: NUMBER,
  exclusiveMaximum: NUMBER,
  multipleOf: { type: 'number', exclusiveMinimum: 0 },
  minLength: COUNT,
  maxLength: COUNT,
  minItems: COUNT,
  maxItems: COUNT,
  minProperties: COUNT,
  maxProperties: COUNT,
  uniqueItems: { type: 'boolean' },
  pattern: { type: 'string' },
  format: { type: 'string' },
  $ref: { type: 'string' },
};

/** The JSON Schema of the schemas in a document: the checked keywords of draft 2020-12, with their types. */
const SCHEMA_SCHEMA: JsonObject = {
  type: 'object',
  properties: PROPERTIES,
  $defs: { schema: { type: ['object', 'boolean'], properties: PROPERTIES } },
};

/** A part of a document, and its path. */
export interface Part {
  value: JsonValue;
  path: string;
}

/**
 * Checks a part of a document against its schema. Nested steps and units are checked separately, so that the maximum number of problems of
 * one value does not hide theirs.
 */
export function checkPart(schema: JsonObject, { value, path }: Part, problems: Problems): void {
  reportUnknownFields(schema, { value, path }, problems);
  addJsonProblems(openParts.get(schema) ?? openPart(schema), { value, path }, problems);
}

/** Adds the problems of a value that does not fit a schema. */
export function addJsonProblems(schema: JsonObject, { value, path }: Part, problems: Problems): void {
  for (const problem of checkJson(schema, value)) problems.add(joinedPath(path, problem.path), problem.message);
}

/** Returns the path of a part inside another part. */
function joinedPath(outer: string, inner: string): string {
  return outer === '' || inner === '' || inner.startsWith('[') ? `${outer}${inner}` : `${outer}.${inner}`;
}

/** Schemas without the separately checked parts, by the original schema. */
const openParts = new WeakMap<JsonObject, JsonObject>();

function openPart(schema: JsonObject): JsonObject {
  const open = withoutParts(schema);
  openParts.set(schema, open);
  return open;
}

/** Replaces references to other parts by any object, and allows unknown fields, which are reported with the nearest name. */
function withoutParts(schema: JsonObject): JsonObject {
  if ('$ref' in schema) return { type: 'object' };
  const { additionalProperties, oneOf: _kinds, ...rest } = mapSubschemas(schema, withoutParts);
  return additionalProperties === undefined || additionalProperties === false ? rest : { ...rest, additionalProperties };
}

function reportUnknownFields(schema: JsonObject, { value, path }: Part, problems: Problems): void {
  if (Array.isArray(value)) {
    const items = schema['items'];
    if (items === undefined || !isJsonObject(items) || '$ref' in items) return;
    for (const [index, item] of value.entries()) reportUnknownFields(items, { value: item, path: memberPath(path, index) }, problems);
  }
  if (!isJsonObject(value)) return;
  const object = schema['additionalProperties'] === false ? schema : subschemas(schema, 'anyOf').find((one) => 'properties' in one);
  if (object === undefined) return;
  const properties = propertiesOf(object);
  for (const [key, member] of Object.entries(value)) {
    const inner = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (inner !== undefined && isJsonObject(inner)) reportUnknownFields(inner, { value: member, path: memberPath(path, key) }, problems);
    else problems.unknownName(path, `unknown field ${quoted(key)}`, { written: key, known: Object.keys(properties) });
  }
}
