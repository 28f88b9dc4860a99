import { expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { removeAddedNulls } from '../../../src/core/json-schema/read-by-schema.ts';
import { jsonSchemaOf } from '../../../src/schema/zod-schemas.ts';

function remove(schema: z.ZodType, value: JsonValue): JsonValue {
  return removeAddedNulls(jsonSchemaOf(schema, 'test'), value);
}

test('a null is removed if it stands for a missing field, and kept if the schema accepts it', () => {
  const schema = z.object({ a: z.string().optional(), b: z.string().nullable(), c: z.string().nullish(), d: z.number().default(1) });
  expect(remove(schema, { a: null, b: null, c: null, d: null })).toEqual({ b: null, c: null });
});

test('a null is kept if a value is required, so that validation refuses it', () => {
  expect(remove(z.object({ a: z.string() }), { a: null })).toEqual({ a: null });
});

test('nested objects, lists and references are followed', () => {
  interface Node {
    label?: string | undefined;
    kids: Node[];
  }
  const node: z.ZodType<Node> = z.object({ label: z.string().optional(), kids: z.array(z.lazy(() => node)) });
  const value = {
    label: null,
    kids: [
      { label: null, kids: [] },
      { label: 'x', kids: [{ label: null, kids: [] }] },
    ],
  };
  const expected = { root: { kids: [{ kids: [] }, { label: 'x', kids: [{ kids: [] }] }] }, list: [[{}]] };
  const schema = z.object({ root: node, list: z.array(z.array(z.object({ a: z.int().optional() }))) });
  expect(remove(schema, { root: value, list: [[{ a: null }]] })).toEqual(expected);
});

test('in a union, the matching choice decides', () => {
  const tagged = z.discriminatedUnion('k', [
    z.object({ k: z.literal('a'), v: z.string().optional() }),
    z.object({ k: z.literal('b'), v: z.string().nullable() }),
  ]);
  expect(remove(z.object({ u: tagged }), { u: { k: 'a', v: null } })).toEqual({ u: { k: 'a' } });
  expect(remove(z.object({ u: tagged }), { u: { k: 'b', v: null } })).toEqual({ u: { k: 'b', v: null } });

  const untagged = z.union([z.object({ x: z.number(), v: z.string().optional() }), z.object({ y: z.number(), v: z.string().nullable() })]);
  expect(remove(z.object({ u: untagged }), { u: { x: 1, v: null } })).toEqual({ u: { x: 1 } });
  expect(remove(z.object({ u: untagged }), { u: { y: 1, v: null } })).toEqual({ u: { y: 1, v: null } });
});

test('fields that are not in the schema are kept, with any name', () => {
  const value = JSON.parse('{"a":null,"constructor":null,"__proto__":null}') as JsonValue;
  expect(Object.keys(remove(z.object({ a: z.string().optional() }), value) as object)).toEqual(['constructor', '__proto__']);
});
