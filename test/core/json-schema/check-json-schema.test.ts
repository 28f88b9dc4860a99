import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkJson, problemsText } from '../../../src/core/json-schema/check-json-schema.ts';
import { jsonSchemaOf } from '../../../src/schema/zod-schemas.ts';

function check(schema: z.ZodType, value: unknown): string {
  return problemsText(checkJson(jsonSchemaOf(schema, 'test'), value));
}

const ORDER = z.strictObject({
  id: z.string().min(1),
  count: z.int().min(1).max(9),
  items: z.array(z.object({ sku: z.string(), price: z.number() })).min(1),
  state: z.enum(['open', 'closed']).optional(),
});
const GOOD = { id: 'a', count: 1, items: [{ sku: 'x', price: 2 }] };

test('a valid value has no problems', () => {
  expect(checkJson(jsonSchemaOf(ORDER, 'test'), GOOD)).toEqual([]);
});

test.each([
  ['a wrong type', { ...GOOD, id: 4 }, 'id: expected string, got number'],
  ['a missing field', { id: 'a', count: 1 }, 'missing required field "items"'],
  ['an unknown field', { ...GOOD, extra: 1 }, 'unknown field "extra"'],
  ['a fraction', { ...GOOD, count: 1.5 }, 'count: expected integer, got 1.5'],
  ['a bound', { ...GOOD, count: 12 }, 'count: expected a number <= 9, got 12'],
  ['an empty text', { ...GOOD, id: '' }, 'id: expected at least 1 character, got 0'],
  ['an empty list', { ...GOOD, items: [] }, 'items: expected at least 1 item, got 0'],
  ['another value', { ...GOOD, state: 'lost' }, 'state: expected "open" or "closed", got "lost"'],
  ['null', null, 'expected object, got null'],
  ['nothing', undefined, 'expected a JSON value, got nothing'],
])('%s is described in words', (_, value, expected) => {
  expect(check(ORDER, value)).toBe(expected);
});

test('all problems are reported together, the deepest first', () => {
  const value = { id: 1, count: 1, items: [{ sku: 'x', price: 'free' }, { price: 2 }] };
  expect(check(ORDER, value)).toBe(
    'items[0].price: expected number, got string; items[1]: missing required field "sku"; id: expected string, got number',
  );
});

test('for a union, the problem is that of the choice with the same fixed field, or lists all choices', () => {
  const schema = z.object({
    shape: z.discriminatedUnion('kind', [z.object({ kind: z.literal('circle'), r: z.number() }), z.object({ kind: z.literal('dot') })]),
    size: z.union([z.string(), z.number(), z.null()]),
  });
  expect(check(schema, { shape: { kind: 'circle' }, size: 1 })).toBe('shape: missing required field "r"');
  expect(check(schema, { shape: { kind: 'cube' }, size: 1 })).toBe('shape.kind: expected "circle" or "dot", got "cube"');
  const closed = z.union([z.strictObject({ a: z.number() }), z.strictObject({ b: z.number(), c: z.number() })]);
  expect(check(z.object({ closed }), { closed: { a: 'x' } })).toBe('closed.a: expected number, got string');
  expect(check(schema, { shape: { kind: 'dot' }, size: true })).toBe('size: expected string, number or null, got boolean');
});

test('a format is named, but only its pattern is enforced', () => {
  expect(check(z.object({ when: z.iso.datetime() }), { when: 'tomorrow' })).toBe(
    'when: expected text in the format date-time, got "tomorrow"',
  );
  expect(check(z.object({ page: z.url() }), { page: 'http://example.com/ü' })).toBe('');
});

test('a recursive schema is validated in bounded time', () => {
  interface Tree {
    kind: string;
    child?: Tree | undefined;
  }
  const tree: z.ZodType<Tree> = z.lazy(() =>
    z.union([z.object({ child: tree.optional(), kind: z.literal('a') }), z.object({ child: tree.optional(), kind: z.literal('b') })]),
  );
  let value: Tree = { kind: 'z' };
  for (let depth = 0; depth < 80; depth += 1) value = { child: value, kind: 'b' };
  expect(check(z.object({ tree }), { tree: value })).toContain('kind: expected "a" or "b", got "z"');
});

test('a schema is not changed, may be frozen, and may have fields with the names of keywords', () => {
  const schema = Object.freeze({
    type: 'object',
    properties: Object.freeze({ format: { type: 'string' }, properties: { type: 'number' }, required: { type: 'boolean' } }),
    required: ['format'],
  });
  const before = JSON.stringify(schema);
  expect(problemsText(checkJson(schema, { properties: 'x' }))).toBe(
    'properties: expected number, got string; missing required field "format"',
  );
  expect(JSON.stringify(schema)).toBe(before);
});

test('a schema that the validator cannot take gives a problem, not an exception', () => {
  expect(checkJson({ type: 'object' }, () => 1)).toHaveLength(1);
  expect(checkJson({ $ref: '#/$defs/gone' }, {})).toHaveLength(1);
  expect(checkJson({ type: 'object', additionalProperties: false }, { '\ud800': 1 })).toHaveLength(1);
});
