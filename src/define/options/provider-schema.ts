import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { portableSchema } from '../../schema/portable-schema.ts';
import type { StrictConversion } from '../../schema/strict-json-schema.ts';

/** A schema in the form that is sent to a provider. */
export interface ProviderSchema {
  readonly providerSchema: JsonObject;
  readonly strict: boolean;
  /** The reason why the schema is not in the strict subset. */
  readonly strictProblem?: string;
}

/**
 * Chooses between the strict form and the plain one. Strict is the default if the schema has a strict form; otherwise only
 * Longhaul validates. `wanted: true` requires it: then a UsageError says why the schema has no strict form.
 */
export function providerSchema(
  owner: string,
  schema: JsonObject,
  conversion: StrictConversion,
  wanted: boolean | undefined,
): ProviderSchema {
  if (conversion.strict && wanted !== false) return { providerSchema: conversion.schema, strict: true };
  const plain = { providerSchema: portableSchema(schema), strict: false };
  if (conversion.strict) return plain;
  if (wanted !== true) return { ...plain, strictProblem: conversion.problem };
  throw new UsageError(`${owner} cannot be strict: ${conversion.problem}. Change the schema, or leave "strict" out`);
}
