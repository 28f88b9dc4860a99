import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { dereference, mapSubschemas } from '../../src/core/json-schema/json-schema.ts';

/** What any object fits: where a schema cannot be checked here, the server checks alone. */
const ANY_OBJECT: JsonObject = { type: 'object' };

/**
 * A server's schema as it can be checked anywhere: in the words of draft 2020-12, and without patterns, which are
 * programs (one can take hours, and the workflow checks too). What is left out is the server's to check. A schema whose
 * references lead nowhere, or in circles, says no more than that the value is an object.
 */
export function checkableSchema(schema: JsonObject): JsonObject {
  const modern = modernSchema(schema);
  if (!references(modern).every((reference) => dereference({ $ref: reference }, modern) !== undefined)) return ANY_OBJECT;
  const plain = withoutPatterns(modern);
  return checkJson(plain, {}).some(({ message }) => message.startsWith('the value could not be checked')) ? ANY_OBJECT : plain;
}

/** The schema in the words of draft 2020-12, as far as older drafts have others for the same. */
export function modernSchema(schema: JsonObject): JsonObject {
  const { $schema: _dialect, $id: _id, definitions, ...rest } = schema;
  const moved = definitions === undefined ? rest : { ...rest, $defs: { ...objectOf(definitions), ...objectOf(rest['$defs']) } };
  return modernWords(moved);
}

/** Every `$ref` of a schema, each once. */
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
      // Of draft 4, where these only say how `minimum` and `maximum` are meant.
      .filter(([keyword, value]) => !(keyword.startsWith('exclusive') && typeof value === 'boolean'))
      .map(([keyword, value]) => [keyword, keyword === '$ref' ? modernReference(value) : value]),
  );
}

function modernReference(reference: JsonValue): JsonValue {
  return typeof reference === 'string' ? reference.replace(/^#\/definitions\//, '#/$defs/') : reference;
}

function withoutPatterns(schema: JsonObject): JsonObject {
  const { pattern: _pattern, patternProperties, additionalProperties, ...rest } = mapSubschemas(schema, withoutPatterns);
  // Without the patterns nobody could tell which properties are additional ones.
  return patternProperties !== undefined || additionalProperties === undefined ? rest : { ...rest, additionalProperties };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}
