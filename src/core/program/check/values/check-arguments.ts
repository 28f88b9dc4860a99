import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json/json.ts';
import { propertiesOf } from '../../../json-schema/json-schema.ts';
import { parseTemplate, wholeReference } from '../../references/template.ts';
import { referencesIn } from '../../references/references-in.ts';
import type { Problems } from '../problems.ts';
import { addJsonProblems, type Part } from '../shape/check-part.ts';

/** Checks the literal parts of arguments against a schema. Values that references will have are not known: they fit. */
export function checkArguments(schema: JsonObject | undefined, { value, path }: Part, problems: Problems): void {
  if (schema === undefined || !isJsonObject(value)) return;
  addJsonProblems(hasReferences(value) ? literalSchema(schema, value) : schema, { value, path }, problems);
}

/** The keywords that can be checked although parts of the value are not known yet. */
const KEPT = ['type', 'required', 'minProperties', 'maxProperties', 'minItems', 'maxItems', '$defs'];

/** Returns a schema that accepts any value where references are, and is as strict as the given one elsewhere. */
function literalSchema(schema: JsonObject, value: JsonValue): JsonObject {
  if (typeof value === 'string') return wholeReference(value) === undefined ? pickKeywords(schema, ['type']) : {};
  if ('$ref' in schema || typeof value !== 'object' || value === null) return {};
  const kept = pickKeywords(schema, KEPT);
  if (Array.isArray(value)) return kept;
  const properties = propertiesOf(schema);
  const inner = Object.entries(value).map(([key, member]): [string, JsonValue] => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (own === undefined || !isJsonObject(own) || !hasReferences(member)) return [key, own ?? {}];
    return [key, literalSchema(own, member)];
  });
  const isClosed = schema['additionalProperties'] === false && !('patternProperties' in schema);
  const known = isClosed ? inner.filter(([key]) => Object.hasOwn(properties, key)) : inner;
  return { ...kept, properties: Object.fromEntries(known), ...(isClosed ? { additionalProperties: false } : {}) };
}

function pickKeywords(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.includes(keyword)));
}

function hasReferences(value: JsonValue): boolean {
  if (typeof value === 'string') return value.includes('{{') && parseTemplate(value).some((part) => typeof part !== 'string');
  return referencesIn(value).length > 0;
}
