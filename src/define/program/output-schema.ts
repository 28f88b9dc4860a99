import type { z } from 'zod';
import type { JsonObject } from '../../core/domain/json.ts';
import { jsonSchemaOf } from '../../schema/zod-json-schema.ts';

/** A zod schema, or a JSON Schema. */
export type SchemaOption = z.ZodType | JsonObject;

/** Returns the JSON Schema of the option. Throws a UsageError that begins with `owner` for a zod schema that JSON cannot represent. */
export function toJsonSchema(owner: string, schema: SchemaOption): JsonObject {
  return isZod(schema) ? jsonSchemaOf(schema, owner) : schema;
}

/** True for a schema of zod 4. */
export function isZod(schema: SchemaOption): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}
