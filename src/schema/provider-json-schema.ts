import type { JsonObject } from '../core/domain/json.ts';
import { mapSubschemas, subschemas } from '../core/json-schema/json-schema.ts';

/** The formats that providers support. */
const KNOWN_FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];

/** Formats that inform a model although providers do not check them. */
const TELLING_FORMATS = [
  'uri',
  'url',
  'base64',
  'base64url',
  'e164',
  'cidrv4',
  'cidrv6',
  'cuid',
  'cuid2',
  'ulid',
  'nanoid',
  'jwt',
  'emoji',
];

/**
 * Returns a schema for the model: without the long patterns that zod adds to formats. Parts that providers refuse
 * (unknown formats, look-around in patterns, several patterns at once) are described in the description instead.
 * Arguments are still checked against the whole schema.
 */
export function toProviderJsonSchema(schema: JsonObject): JsonObject {
  const inner = mapSubschemas(schema, toProviderJsonSchema);
  const { format, pattern, allOf, ...rest } = inner;
  const notes: string[] = [];
  const kept: JsonObject = {};
  if (typeof format === 'string' && KNOWN_FORMATS.includes(format)) kept['format'] = format;
  if (typeof format === 'string' && TELLING_FORMATS.includes(format)) notes.push(`format: ${format}`);
  if (typeof pattern === 'string' && kept['format'] === undefined && notes.length === 0) {
    if (isPortable(pattern)) kept['pattern'] = pattern;
    else notes.push(`pattern: ${pattern}`);
  }
  if (allOf !== undefined && !isListOfPatterns(inner)) kept['allOf'] = allOf;
  return { ...withNotes(rest, notes), ...kept };
}

/** Returns the schema with notes for the model at the end of its description. */
export function withNotes(schema: JsonObject, notes: readonly string[]): JsonObject {
  if (notes.length === 0) return schema;
  const { description } = schema;
  const note = `(${notes.join(', ')})`;
  return { ...schema, description: typeof description === 'string' ? `${description} ${note}` : note };
}

/** True for a pattern without look-around, named groups and back references, which the engines of providers lack. */
function isPortable(pattern: string): boolean {
  return !/\(\?[^:]|\\[1-9k]/.test(pattern);
}

function isListOfPatterns(schema: JsonObject): boolean {
  return subschemas(schema, 'allOf').every((part) => Object.keys(part).every((keyword) => keyword === 'pattern'));
}
