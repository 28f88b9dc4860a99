import type { JsonObject } from '../../../domain/json/json.ts';

const INNER: JsonObject = { $ref: '#/$defs/schema' };
const MAP: JsonObject = { type: 'object', additionalProperties: INNER };
const LIST: JsonObject = { type: 'array', items: INNER, minItems: 1 };
const COUNT: JsonObject = { type: 'integer', minimum: 0 };
const NUMBER: JsonObject = { type: 'number' };
const TYPE: JsonObject = { enum: ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'] };

/** The keywords that contain one schema. */
const SINGLES = ['items', 'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'];

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

/** The JSON Schema of the schemas in a document: the keywords of draft 2020-12 that are checked, with their types. */
export const SCHEMA_SCHEMA: JsonObject = {
  type: 'object',
  properties: PROPERTIES,
  $defs: { schema: { type: ['object', 'boolean'], properties: PROPERTIES } },
};
