import { isJsonObject, type JsonObject, type JsonValue, memberPath } from '../../../domain/json.ts';
import { checkJson } from '../../../json-schema/check-json-schema.ts';
import { mapSubschemas, propertiesOf, subschemas } from '../../../json-schema/json-schema.ts';
import { type Problems, quoted } from '../problems.ts';

/** A part of a document, and its path. */
export interface Part {
  value: JsonValue;
  path: string;
}

/**
 * Checks a part of a document against the schema of that part. Steps and units inside it are checked one by one, so that the number
 * of problems that a value may have does not hide theirs.
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
export function joinedPath(outer: string, inner: string): string {
  return outer === '' || inner === '' || inner.startsWith('[') ? `${outer}${inner}` : `${outer}.${inner}`;
}

/** Schemas without what is checked otherwise, by the schema that they were made of. */
const openParts = new WeakMap<JsonObject, JsonObject>();

function openPart(schema: JsonObject): JsonObject {
  const open = opened(schema);
  openParts.set(schema, open);
  return open;
}

/** Replaces references to other parts by any object, and lets unknown fields pass, which are reported with the nearest name. */
function opened(schema: JsonObject): JsonObject {
  if ('$ref' in schema) return { type: 'object' };
  const { additionalProperties, oneOf: _kinds, ...rest } = mapSubschemas(schema, opened);
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
