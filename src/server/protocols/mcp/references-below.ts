import type { JsonObject } from '../../../core/domain/json/json.ts';
import { mapSubschemas } from '../../../core/json-schema/json-schema.ts';

/** Returns a schema for a place inside another one: its references lead to that place, such as `/properties/deps`. */
export function withReferencesBelow(schema: JsonObject, place: string): JsonObject {
  const { $ref, ...rest } = mapSubschemas(schema, (inner) => withReferencesBelow(inner, place));
  if (typeof $ref !== 'string') return rest;
  return { ...rest, $ref: $ref.startsWith('#') ? `#${place}${$ref.slice(1)}` : $ref };
}
