import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json/json.ts';
import { propertiesOf, typesOf } from '../../../json-schema/json-schema.ts';
import { quoted } from '../problems.ts';

/** A field that values of a schema certainly do not have, or need not have although their fields are listed. */
export interface UnknownField {
  message: string;
  written: string;
  known: string[];
}

/** Keywords that can describe further fields, so that the list of properties is not complete. */
const OPEN = ['$ref', 'anyOf', 'oneOf', 'allOf', 'if', 'patternProperties', 'prefixItems', 'unevaluatedProperties', 'dependentSchemas'];

/**
 * Follows a path in the values that a schema describes. Returns the first name or index that leads to nothing there. A schema that
 * lists fields has no others, unless it says so with `additionalProperties`: otherwise no misspelt field would be noticed.
 */
export function unknownField(schema: JsonValue, path: readonly (string | number)[]): UnknownField | undefined {
  let current = schema;
  for (const segment of path) {
    if (!isJsonObject(current) || OPEN.some((keyword) => keyword in (current as JsonObject))) return undefined;
    const types = typesOf(current);
    const needed = typeof segment === 'number' ? 'array' : 'object';
    if (types.length > 0 && !types.includes(needed)) {
      const what = typeof segment === 'number' ? `item ${segment}` : `field ${quoted(segment)}`;
      return { message: `there is no ${what} in a value of the type ${types.join(' or ')}`, written: '', known: [] };
    }
    if (typeof segment === 'number') {
      current = current['items'] ?? true;
      continue;
    }
    const properties = propertiesOf(current);
    const { additionalProperties } = current;
    const own = Object.hasOwn(properties, segment) ? properties[segment] : undefined;
    if (own === undefined && additionalProperties !== undefined && additionalProperties !== false) return undefined;
    if (own === undefined && Object.keys(properties).length === 0 && additionalProperties !== false) return undefined;
    if (own === undefined) {
      return { message: `there is no field ${quoted(segment)}`, written: segment, known: Object.keys(properties) };
    }
    current = own;
  }
  return undefined;
}
