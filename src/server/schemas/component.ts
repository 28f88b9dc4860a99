import { z } from 'zod';

/** The schemas that the OpenAPI document names, by their names. */
export const COMPONENTS = z.registry<{ id: string }>();

/** Names a schema in the OpenAPI document: others refer to it. */
export function component<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  COMPONENTS.add(schema, { id });
  return schema;
}
