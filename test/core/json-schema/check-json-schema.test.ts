import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { checkJson, problemsText } from '../../../src/core/json-schema/check-json-schema.ts';
import { jsonSchemaOf } from '../../../src/schema/zod-schemas.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { checkRunInput, decisionProblem, messageProblem, raiseProblem } from '../../../src/core/input-checks.ts';

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

test('for a union, the problem describes the choice with the same fixed field, or lists all choices', () => {
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

describe('several problems', () => {
  function problemsOf(level: JsonObject, value: JsonValue, definitions: JsonObject = {}): string {
    return problemsText(checkJson({ type: 'object', properties: { level }, $defs: definitions }, { level: value }));
  }

  const LEVEL = { type: 'string', enum: ['low', 'high'] };

  test.each<[string, JsonObject, JsonValue, string]>([
    ['a list of values with their type', LEVEL, 3, 'level: expected string, got number; level: expected "low" or "high", got 3'],
    ['a list of values of the right type', LEVEL, 'mid', 'level: expected "low" or "high", got "mid"'],
    ['one value with its type', { type: 'string', const: 'low' }, 3, 'level: expected "low", got 3'],
    [
      'a list that has values of another type',
      { type: 'string', enum: ['low', 3] },
      4,
      'level: expected string, got number; level: expected "low", got 4',
    ],
    ['a value in the list, of another type', { type: 'string', enum: ['low', 3] }, 3, 'level: expected string, got number'],
    ['such a list as a choice', { anyOf: [LEVEL, { type: 'number' }] }, true, 'level: expected "low", "high" or number, got true'],
    ['such a list, or nothing', { anyOf: [LEVEL, { type: 'null' }] }, 3, 'level: expected "low", "high" or null, got 3'],
    [
      'values as choices with their type',
      { type: 'string', anyOf: [{ const: 'a' }, { const: 'b' }] },
      3,
      'level: expected "a" or "b", got 3',
    ],
    [
      'such a list in another part',
      { allOf: [{ type: 'string' }, { enum: ['low', 'high'] }] },
      3,
      'level: expected "low" or "high", got 3',
    ],
    [
      'two lists that both hold',
      { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] },
      'd',
      'level: expected "a" or "b", got "d"; level: expected "b" or "c", got "d"',
    ],
    [
      'two types that both hold',
      { type: ['string', 'number'], anyOf: [{ type: 'string' }, { type: 'integer' }] },
      true,
      'level: expected string or number, got boolean; level: expected string or integer, got boolean',
    ],
    [
      'a length and a pattern',
      { type: 'string', minLength: 3, pattern: '^[a-z]+$' },
      '1',
      'level: expected at least 3 characters, got 1; level: expected text that matches "^[a-z]+$", got "1"',
    ],
  ])('%s: every problem is reported, and no consequence of one', (_, level, value, expected) => {
    expect(problemsOf(level, value)).toBe(expected);
  });

  test('all problems are reported if the schema refers to a part of itself', () => {
    const definitions = { node: { type: 'object', properties: { a: { type: 'number' }, b: LEVEL, child: { $ref: '#/$defs/node' } } } };
    const level = { $ref: '#/$defs/node' };
    expect(problemsOf(level, { a: 'x', b: 3, child: { a: 'y' } }, definitions)).toBe(
      'level.child.a: expected number, got string; level.a: expected number, got string; level.b: expected string, got number; level.b: expected "low" or "high", got 3',
    );
  });
});

const TOO_DEEP = 'nested deeper than 64 levels';
const DECISION = { callId: 'c1', id: 'd1', digest: 'x' };

function lists(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

test('10,000 levels in any request to a run are refused with the path to them', () => {
  const deep = lists(10_000);
  expect(decisionProblem('respond', { ...DECISION, content: deep })).toContain(`content: ${TOO_DEEP}`);
  expect(decisionProblem('approve', { ...DECISION, arguments: { list: deep } })).toContain(`arguments: ${TOO_DEEP}`);
  expect(decisionProblem('reject', deep)).toContain(TOO_DEEP);
  expect(raiseProblem({ id: 'r1', limits: { totalTokens: deep } })).toContain(`limits: ${TOO_DEEP}`);
  expect(messageProblem({ id: 'm1', content: deep })).toEqual({
    code: 'invalid_input',
    message: expect.stringContaining(`content: ${TOO_DEEP}`) as string,
  });
  expect(checkRunInput({ agent: 'a', input: 'Q', deps: { deep } })).toMatchObject({
    ok: false,
    code: 'invalid_input',
    problem: expect.stringContaining(`deps: ${TOO_DEEP}`) as string,
  });
  expect(checkRunInput(deep)).toMatchObject({ ok: false, code: 'invalid_input' });
});

test('64 levels are accepted', () => {
  expect(decisionProblem('respond', { ...DECISION, content: lists(64) })).toBeUndefined();
  expect(decisionProblem('respond', { ...DECISION, content: lists(65) })).toContain(TOO_DEEP);
  expect(checkRunInput({ agent: 'a', input: 'Q', deps: { deep: lists(63) } })).toMatchObject({ ok: true });
  expect(checkRunInput({ agent: 'a', input: 'Q', deps: { deep: lists(64) } })).toMatchObject({ ok: false });
});

test('a recursive schema does not follow a value through 10,000 levels', () => {
  const schema = { $ref: '#/$defs/list', $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } };
  expect(problemsText(checkJson(schema, lists(10_000)))).toBe('the value could not be checked: it is nested deeper than 128 levels');
  expect(checkJson(schema, lists(100))).toEqual([]);
});
