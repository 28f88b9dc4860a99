import type { ToolSnapshot } from '../../domain/agent.ts';
import { type Field, type SchemaType, schemaType } from './schema-type.ts';

/** Returns the type of a tool's arguments: of an object, with the fields that are required before those that may be left out. */
export function argumentsType({ schema }: Pick<ToolSnapshot, 'schema'>, depth: number): SchemaType {
  const type = schemaType(schema, depth);
  return type.kind === 'object' ? { ...type, fields: requiredFirst(type.fields) } : type;
}

/** Returns the names of a tool's parameters, in the order of arguments that are given by position. */
export function parameterNames(tool: Pick<ToolSnapshot, 'schema'>): string[] {
  const type = argumentsType(tool, 1);
  const objects = type.kind === 'union' ? type.choices : [type];
  return [...new Set(objects.flatMap((object) => (object.kind === 'object' ? object.fields.map(({ name }) => name) : [])))];
}

/** Orders fields as Python orders parameters. */
function requiredFirst(fields: readonly Field[]): Field[] {
  return [...fields.filter(({ optional }) => !optional), ...fields.filter(({ optional }) => optional)];
}
