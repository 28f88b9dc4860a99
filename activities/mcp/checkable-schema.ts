import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { dereference, mapSubschemas } from '../../src/core/json-schema/json-schema.ts';

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
