import { expect, test } from 'vitest';
import { z } from 'zod';
import { changesValues } from '../../src/schema/changes-values.ts';

const text = z.string();

const KEEPING: Record<string, z.ZodType> = {
  'plain types': z.object({ a: text, b: z.number(), c: z.boolean(), d: z.null(), e: z.enum(['x']), f: z.literal(3), g: z.any() }),
  'bounds and formats': z.object({
    a: text.min(1).max(9).regex(/a/),
    b: z.int().positive(),
    c: z.email(),
    d: z.iso.datetime(),
    e: z.uuid(),
  }),
  'optional and nullable values': z.object({ a: text.optional(), b: text.nullable(), c: z.number().nullish() }),
  'lists, tuples, records and choices': z.object({
    a: z.array(text),
    b: z.tuple([text]),
    c: z.record(text, z.number()),
    d: z.union([text, z.number()]),
  }),
  'strict and loose objects': z.object({ a: z.strictObject({ x: text }), b: z.looseObject({}), c: z.object({ y: text }).readonly() }),
  'a refinement, which only looks': z.object({ a: text.refine((one) => one !== '') }),
  'a schema inside itself': z.object({ a: z.json() }),
  'descriptions and brands': z.object({ a: text.describe('A').meta({ title: 'A' }).brand('A') }),
};

const CHANGING: Record<string, z.ZodType> = {
  'a default': text.default('a'),
  'a default before parsing': text.prefault('a'),
  'a value in place of an invalid one': text.catch('a'),
  'a trimmed text': text.trim(),
  'a text in lower case': text.toLowerCase(),
  'a normalized text': text.normalize(),
  'a coerced number': z.coerce.number(),
  'a transform': text.transform(Number),
  'a pipe': text.pipe(text),
  'words for truth values': z.stringbool(),
  'a URL, which is trimmed': z.url(),
  'a check that may replace the value': text.check(() => undefined),
  'another check that may': text.superRefine(() => undefined),
  'a lazy schema with one inside': z.lazy(() => z.array(text.trim())),
  'a choice with one inside': z.union([z.number(), z.object({ a: text.default('a') })]),
  'a record with one as its values': z.record(text, text.trim()),
};

test.each(Object.entries(KEEPING))('%s change no value', (_, schema) => {
  expect(changesValues(schema)).toBe(false);
});

test.each(Object.entries(CHANGING))('%s may change a value, at any depth', (_, schema) => {
  expect(changesValues(schema)).toBe(true);
  expect(changesValues(z.object({ list: z.array(z.object({ one: schema.optional() })) }))).toBe(true);
});

test('a schema that is not known may change a value', () => {
  expect(changesValues({ parse: (value: unknown) => value } as unknown as z.ZodType)).toBe(true);
});
