import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { dereference, mapSubschemas } from '../../src/core/json-schema/json-schema.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { toStrictJsonSchema } from '../../src/schema/strict-json-schema.ts';
import { checkableSchema, modernSchema, references } from './checkable-schema.ts';

/** The schemas of a tool as they are pinned for a run. */
export type PinnedSchema = Pick<ToolSnapshot, 'parameters' | 'schema' | 'strict'>;

/** The most schemas in one whose references are resolved in place. */
const MAX_SCHEMAS = 2_000;

/** Returns the schemas of a tool from its server's schema of an object: one that checks arguments as the server does, and one that is sent. */
export function pinSchema(input: JsonObject): PinnedSchema {
  const schema = checkableSchema(input);
  const modern = modernSchema(input);
  const conversion = schema['properties'] === undefined ? undefined : strictConversion(modern);
  if (conversion !== undefined) return { parameters: conversion, schema, strict: true };
  return { parameters: portableSchema(modern), schema, strict: false };
}

function strictConversion(schema: JsonObject): JsonObject | undefined {
  const whole = references(schema).length === 0 ? schema : withoutReferences(schema);
  const conversion = whole === undefined ? undefined : toStrictJsonSchema(whole);
  return conversion?.strict ? conversion.schema : undefined;
}

/** Resolves the references of a schema in place; undefined if one leads nowhere or in a circle. */
function withoutReferences(root: JsonObject): JsonObject | undefined {
  let left = MAX_SCHEMAS;
  let isWhole = true;
  const resolve = (schema: JsonObject, from: readonly JsonValue[]): JsonObject => {
    left -= 1;
    const { $ref: reference, ...rest } = schema;
    if (left < 0 || (reference !== undefined && from.includes(reference))) {
      isWhole = false;
      return {};
    }
    if (reference === undefined) return mapSubschemas(schema, (inner) => resolve(inner, from));
    const target = dereference({ $ref: reference }, root);
    isWhole &&= target !== undefined;
    return resolve({ ...target, ...rest }, [...from, reference]);
  };
  const { $defs: _definitions, ...own } = root;
  const resolved = resolve(own, []);
  return isWhole && isJsonObject(resolved) ? resolved : undefined;
}
