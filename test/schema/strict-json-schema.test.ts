import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { toStrictJsonSchema as normalizedByOpenAI } from 'openai/lib/transform';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/core/domain/json.ts';
import { toStrictJsonSchema } from '../../src/schema/strict-json-schema.ts';
import { jsonSchemaOf } from '../../src/schema/zod-schemas.ts';

interface Node {
  v: string;
  next?: Node | null | undefined;
  kids: Node[];
}
const nullableNode: z.ZodType<Node> = z.object({
  v: z.string(),
  next: z.lazy(() => nullableNode.nullable()),
  kids: z.array(z.lazy(() => nullableNode)),
});
const optionalNode: z.ZodType<Node> = z.object({
  v: z.string(),
  next: z.lazy(() => optionalNode).optional(),
  kids: z.array(z.lazy(() => optionalNode)),
});

const BOTH_ACCEPT: Record<string, z.ZodType> = {
  'flat fields': z.object({ q: z.string(), n: z.number(), b: z.boolean() }),
  'no fields': z.object({}),
  'a strict object': z.strictObject({ a: z.string() }),
  'nullable fields': z.object({ a: z.string().nullable(), o: z.object({ b: z.array(z.string()).nullable() }).nullable(), n: z.null() }),
  'nullish fields': z.object({ a: z.string().nullish() }),
  defaults: z.object({ a: z.string().default('x'), o: z.object({ b: z.number() }).default({ b: 1 }) }),
  unions: z.object({ a: z.union([z.string(), z.object({ x: z.number() })]) }),
  'discriminated unions': z.object({
    a: z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), v: z.int() })]),
  }),
  recursion: nullableNode,
  'recursion below the root': z.object({ root: nullableNode }),
  'enums and literals': z.object({ e: z.enum(['x', 'y']), l: z.literal([1, 'a', null]), one: z.literal('only') }),
  lists: z.object({
    a: z
      .array(z.object({ b: z.boolean() }))
      .min(1)
      .max(4),
  }),
  formats: z.object({
    a: z.email(),
    b: z.iso.datetime(),
    c: z.uuid(),
    d: z.url(),
    e: z.ipv4(),
    f: z.string().regex(/^a+$/),
    g: z.string().startsWith('x'),
  }),
  bounds: z.object({ a: z.number().min(1).max(3).multipleOf(0.5), b: z.int32(), c: z.number().gt(1), s: z.string().min(2).max(4) }),
  'named parts': z.object({ a: z.object({ q: z.string() }).meta({ id: 'Part', title: 'T' }), b: z.string().describe('d') }),
  'a named root': z.object({ a: z.string() }).meta({ id: 'Root' }),
  'an intersection of objects': z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
};

const ONLY_WE_ACCEPT: Record<string, z.ZodType> = {
  'optional fields': z.object({
    text: z.string().optional(),
    object: z.object({ x: z.string() }).optional(),
    literal: z.literal('q').optional(),
    list: z.array(z.string()).optional(),
    enumeration: z.enum(['a']).optional(),
    union: z.union([z.string(), z.object({ x: z.number() })]).optional(),
    nothing: z.null().optional(),
    named: z.object({ x: z.string() }).meta({ id: 'Named' }).optional(),
  }),
  'optional recursion': optionalNode,
  'several patterns': z.object({ a: z.string().regex(/a/).regex(/b/) }),
};

function convert(schema: z.ZodType): JsonObject {
  const conversion = toStrictJsonSchema(jsonSchemaOf(schema, 'test'));
  if (!conversion.strict) throw new Error(conversion.problem);
  return conversion.schema;
}

describe('the strict form, compared with the openai package', () => {
  test.each(Object.entries(BOTH_ACCEPT))('%s: both accept the schema as strict, and it needs no change', (_, schema) => {
    expect(() => zodFunction({ name: 'x', parameters: schema as z.ZodObject })).not.toThrow();
    expect(() => zodResponseFormat(schema as z.ZodObject, 'x')).not.toThrow();
    const converted = convert(schema);
    expect(normalizedByOpenAI(structuredClone(converted))).toEqual(converted);
  });

  test.each(Object.entries(ONLY_WE_ACCEPT))('%s: the package refuses the zod schema and accepts the strict form', (_, schema) => {
    expect(() => zodFunction({ name: 'x', parameters: schema as z.ZodObject })).toThrow(/not supported|unsupported keyword/);
    const converted = convert(schema);
    expect(normalizedByOpenAI(structuredClone(converted))).toEqual(converted);
  });
});

test.each([
  ['a record', z.object({ a: z.record(z.string(), z.number()) }), '"a" is a record'],
  ['a tuple', z.object({ a: z.object({ b: z.tuple([z.string()]) }) }), '"a.b" is a tuple'],
  ['any value', z.object({ list: z.array(z.object({ x: z.unknown() })) }), '"list[].x" is of any type'],
  ['an open object', z.looseObject({ a: z.string() }), 'the root is open to fields without a name'],
  ['a catch-all', z.object({ a: z.object({}).catchall(z.string()) }), '"a" is open to fields without a name'],
  ['a union at the root', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), 'the root is not an object'],
  ['a list at the root', z.array(z.string()), 'the root is not an object'],
])('%s has no strict form, and the reason names the place', (_, schema, problem) => {
  expect(toStrictJsonSchema(jsonSchemaOf(schema, 'test'))).toEqual({ strict: false, problem });
});

test('more than ten levels have no strict form', () => {
  let schema: z.ZodType = z.string();
  for (let level = 0; level < 12; level += 1) schema = z.object({ inner: schema });
  expect(toStrictJsonSchema(jsonSchemaOf(schema, 'test'))).toMatchObject({ strict: false, problem: expect.stringContaining('10 levels') });
});

test('an optional field is required and nullable, at every level', () => {
  const schema = z.object({ a: z.string().optional(), o: z.object({ e: z.enum(['x', 'y']).optional() }).optional() });
  expect(convert(schema)).toEqual({
    type: 'object',
    properties: {
      a: { type: ['string', 'null'] },
      o: {
        anyOf: [
          {
            type: 'object',
            properties: { e: { type: ['string', 'null'], enum: ['x', 'y', null] } },
            required: ['e'],
            additionalProperties: false,
          },
          { type: 'null' },
        ],
      },
    },
    required: ['a', 'o'],
    additionalProperties: false,
  });
});

test('the description tells the model about keywords outside the subset', () => {
  const schema = z.object({
    page: z.url().describe('The page.'),
    n: z.int().default(5),
    name: z.string().min(2).max(9),
    when: z.iso.datetime(),
  });
  expect(convert(schema)['properties']).toEqual({
    page: { type: 'string', description: 'The page. (format: uri)' },
    n: { type: ['integer', 'null'], description: '(default: 5)' },
    name: { type: 'string', description: '(at least 2 characters, at most 9 characters)' },
    when: { type: 'string', format: 'date-time' },
  });
});
