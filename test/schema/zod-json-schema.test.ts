import { expect, test } from 'vitest';
import { z } from 'zod';
import { UsageError } from '../../src/core/domain/errors.ts';
import { jsonSchemaOf } from '../../src/schema/zod-schemas.ts';

test.each([
  ['a date', z.object({ when: z.date() }), 'parameters.when: dates cannot be represented in JSON: use z.iso.datetime()'],
  ['a coerced date in a list', z.object({ l: z.array(z.object({ at: z.coerce.date() })) }), 'parameters.l[].at: dates'],
  ['a bigint in a record', z.object({ r: z.record(z.string(), z.bigint()) }), 'parameters.r.*: bigints'],
  ['a bigint literal', z.object({ a: z.literal(1n) }), 'parameters.a: bigints'],
  ['a map', z.object({ m: z.map(z.string(), z.string()) }), 'parameters.m: maps'],
  ['a set', z.object({ s: z.set(z.string()).optional() }), 'parameters.s: sets'],
  ['undefined in a union', z.object({ u: z.union([z.string(), z.undefined()]) }), 'parameters.u: undefined'],
  ['a custom type in a tuple', z.object({ t: z.tuple([z.string(), z.custom<Buffer>()]) }), 'parameters.t[1]: custom types'],
])('%s is refused with its path and a replacement', (_, schema, message) => {
  expect(() => jsonSchemaOf(schema, 'parameters')).toThrow(UsageError);
  expect(() => jsonSchemaOf(schema, 'parameters')).toThrow(message);
});

test('a transform is accepted for input and refused for output', () => {
  const schema = z.object({ a: z.string().transform((text) => text.length) });
  expect(jsonSchemaOf(schema, 'output')).toMatchObject({ properties: { a: { type: 'string' } } });
  expect(() => jsonSchemaOf(schema, 'output', 'output')).toThrow('output.a: what a transform returns');
});

test('the bounds of safe integers and the address of the draft are left out', () => {
  expect(jsonSchemaOf(z.object({ n: z.int(), m: z.int().min(1) }), 'x')).toEqual({
    type: 'object',
    properties: { n: { type: 'integer' }, m: { type: 'integer', minimum: 1 } },
    required: ['n', 'm'],
  });
});

test('a pattern with flags is left to zod: JSON Schema would refuse texts that zod accepts', () => {
  const schema = jsonSchemaOf(z.object({ a: z.string().regex(/^abc$/i), b: z.string().regex(/^abc$/) }), 'x');
  expect(schema['properties']).toEqual({ a: { type: 'string' }, b: { type: 'string', pattern: '^abc$' } });
});
