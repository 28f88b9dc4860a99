import { z } from 'zod';
import type { ContentItem, ContentPart, MediaSource } from '../core/domain/content.ts';
import { UsageError } from '../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { dereference, mapSubschemas } from '../core/json-schema/json-schema.ts';

/** The zod types that JSON cannot represent, with an alternative for each. */
const UNREPRESENTABLE: Partial<Record<string, string>> = {
  date: 'dates cannot be represented in JSON: use z.iso.datetime()',
  bigint: 'bigints cannot be represented in JSON: use z.int() or z.string()',
  map: 'maps cannot be represented in JSON: use z.record() or z.array() of entries',
  set: 'sets cannot be represented in JSON: use z.array()',
  undefined: 'undefined cannot be represented in JSON: use .optional() or z.null()',
  void: 'void cannot be represented in JSON: use .optional() or z.null()',
  symbol: 'symbols cannot be represented in JSON: use z.enum()',
  nan: 'NaN cannot be represented in JSON: use z.null()',
  function: 'functions cannot be represented in JSON: leave the field out',
  promise: 'promises cannot be represented in JSON: use the schema of the value',
  custom: 'custom types cannot be represented in JSON: use a schema of plain data with .refine()',
  transform: 'what a transform returns cannot be represented in JSON Schema: transform where the value is used',
};

/**
 * Returns the JSON Schema (draft 2020-12) of a zod schema: of the values that it accepts (`input`), or of the values
 * that parsing returns (`output`). `owner` names the schema in the UsageError, with the path, for a type that JSON
 * cannot represent.
 */
export function jsonSchemaOf(schema: z.ZodType, owner: string, side: 'input' | 'output' = 'input'): JsonObject {
  let problem: string | undefined;
  let converted: unknown;
  try {
    converted = z.toJSONSchema(schema, {
      io: side,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema, path }) => {
        problem ??= unrepresentable(zodSchema, owner, path);
        if (hasUnfaithfulPattern(zodSchema)) {
          delete jsonSchema.pattern;
          delete jsonSchema.allOf;
        }
      },
    });
  } catch (error) {
    problem ??= `${owner} cannot be represented in JSON Schema: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (problem !== undefined) throw new UsageError(problem);
  const plain = JSON.parse(JSON.stringify(converted)) as JsonValue;
  return tidy(isJsonObject(plain) ? plain : {});
}

function unrepresentable(schema: z.core.$ZodType, owner: string, path: readonly (string | number)[]): string | undefined {
  const { def } = schema._zod;
  const literals = 'values' in def && Array.isArray(def.values) ? def.values.map((value) => typeof value) : [];
  const type = literals.find((kind) => kind === 'bigint' || kind === 'undefined' || kind === 'symbol') ?? def.type;
  const reason = UNREPRESENTABLE[type];
  return reason === undefined ? undefined : `${readablePath(owner, path)}: ${reason}`;
}

/**
 * Returns a readable path: `parameters` and `properties, list, items, properties, when` become
 * `parameters.list[].when`.
 */
function readablePath(owner: string, path: readonly (string | number)[]): string {
  let text = owner;
  for (let index = 0; index < path.length; index += 1) {
    const token = path[index];
    if (token === 'properties') text += `.${path[(index += 1)]}`;
    else if (token === 'items') text += '[]';
    else if (token === 'additionalProperties') text += '.*';
    else if (token === 'prefixItems') text += `[${path[(index += 1)]}]`;
  }
  return text;
}

/** True for a pattern with flags: JSON Schema has none, so the pattern would refuse values that zod accepts. */
function hasUnfaithfulPattern(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod;
  const checks = 'checks' in def && Array.isArray(def.checks) ? def.checks : [];
  return [def, ...checks.map((check: z.core.$ZodCheck) => check._zod.def)].some((one) => {
    if (!('pattern' in one) || !(one.pattern instanceof RegExp)) return false;
    return /[imsv]/.test(one.pattern.flags) || !compilesWithUnicode(one.pattern.source);
  });
}

function compilesWithUnicode(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/**
 * Removes parts without information (`$schema`, the bounds of safe integers), and resolves a root that is only a
 * reference.
 */
function tidy(root: JsonObject): JsonObject {
  const { $schema: _, ...schema } = root;
  const { $ref, ...rest } = schema;
  const direct = typeof $ref === 'string' ? { ...dereference(schema, schema), ...rest } : schema;
  return withoutSafeBounds(direct);
}

function withoutSafeBounds(schema: JsonObject): JsonObject {
  const { minimum, maximum, ...rest } = mapSubschemas(schema, withoutSafeBounds);
  return {
    ...rest,
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  };
}

const mediaSource = {
  url: z.string().exactOptional(),
  data: z.string().exactOptional(),
  mediaType: z.string().exactOptional(),
};

function hasOneSource({ url, data }: MediaSource): boolean {
  return (url === undefined) !== (data === undefined);
}

const ONE_SOURCE = 'needs exactly one of "url" and "data"';

/** The schema for a part of an incoming message: text, or media with exactly one of `url` and `data` (base64). */
export const contentPartSchema: z.ZodType<ContentPart> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z
    .object({ type: z.literal('image'), width: z.number().exactOptional(), height: z.number().exactOptional(), ...mediaSource })
    .refine(hasOneSource, ONE_SOURCE),
  z.object({ type: z.literal('audio'), format: z.string().exactOptional(), ...mediaSource }).refine(hasOneSource, ONE_SOURCE),
  z.object({ type: z.literal('video'), format: z.string().exactOptional(), ...mediaSource }).refine(hasOneSource, ONE_SOURCE),
  z.object({ type: z.literal('file'), name: z.string().exactOptional(), ...mediaSource }).refine(hasOneSource, ONE_SOURCE),
]);

/** The schema for an incoming content item: a union on `type`. Unknown keys are dropped. */
export const contentItemSchema: z.ZodType<ContentItem> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    role: z.enum(['system', 'user', 'assistant']),
    content: z.union([z.string(), z.array(contentPartSchema)]),
  }),
  z.object({
    type: z.literal('tool_call'),
    toolCallId: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.json()),
  }),
  z.object({
    type: z.literal('tool_result'),
    toolCallId: z.string(),
    name: z.string(),
    status: z.enum(['success', 'error']),
    content: z.array(z.json()),
    notes: z.array(z.string()).exactOptional(),
  }),
]);
