import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { toProviderJsonSchema } from '../../src/schema/provider-json-schema.ts';
import { isObjectSchema, toStrictJsonSchema } from '../../src/schema/strict-json-schema.ts';
import { checkableSchema, modernSchema, references } from './checkable-schema.ts';

/** The schemas of a tool as they are pinned for a run. */
export type PinnedSchema = Pick<ToolSnapshot, 'parameters' | 'schema' | 'strict'>;

/** The only references that a provider's strict mode supports: to the root and to definitions. */
const STRICT_REFERENCE = /^#(?:\/\$defs\/[^/]+)?$/;

/** Returns the schemas of a tool from its server's schema; undefined if that is not the schema of an object. */
export function pinSchema(inputSchema: unknown): PinnedSchema | undefined {
  const input = cleanJson(inputSchema);
  if (input === undefined || !isJsonObject(input) || !isObjectSchema(input)) return undefined;
  const schema = checkableSchema(input);
  const strict = strictSchema(modernSchema(input));
  if (strict !== undefined && schema['properties'] !== undefined) return { parameters: strict, schema, strict: true };
  const { $schema: _dialect, ...parameters } = input;
  return { parameters: toProviderJsonSchema(parameters), schema, strict: false };
}

function strictSchema(schema: JsonObject): JsonObject | undefined {
  if (!references(schema).every((reference) => STRICT_REFERENCE.test(reference))) return undefined;
  try {
    const conversion = toStrictJsonSchema(schema);
    return conversion.strict ? conversion.schema : undefined;
  } catch {
    // Definitions with circular references cannot be converted.
    return undefined;
  }
}
