import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { checkJson, problemsText } from '../../../src/core/json-schema/check-json-schema.ts';

function check(level: JsonObject, value: JsonValue, definitions: JsonObject = {}): string {
  return problemsText(checkJson({ type: 'object', properties: { level }, $defs: definitions }, { level: value }));
}

const LEVEL = { type: 'string', enum: ['low', 'high'] };

test.each<[string, JsonObject, JsonValue, string]>([
  ['a list of values beside their type', LEVEL, 3, 'level: expected string, got number; level: expected "low" or "high", got 3'],
  ['a list of values of the right type', LEVEL, 'mid', 'level: expected "low" or "high", got "mid"'],
  ['one value beside its type', { type: 'string', const: 'low' }, 3, 'level: expected "low", got 3'],
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
    'values as choices beside their type',
    { type: 'string', anyOf: [{ const: 'a' }, { const: 'b' }] },
    3,
    'level: expected "a" or "b", got 3',
  ],
  ['such a list in another part', { allOf: [{ type: 'string' }, { enum: ['low', 'high'] }] }, 3, 'level: expected "low" or "high", got 3'],
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
  expect(check(level, value)).toBe(expected);
});

test('all problems are reported if the schema refers to a part of itself', () => {
  const definitions = { node: { type: 'object', properties: { a: { type: 'number' }, b: LEVEL, child: { $ref: '#/$defs/node' } } } };
  const level = { $ref: '#/$defs/node' };
  expect(check(level, { a: 'x', b: 3, child: { a: 'y' } }, definitions)).toBe(
    'level.child.a: expected number, got string; level.a: expected number, got string; level.b: expected string, got number; level.b: expected "low" or "high", got 3',
  );
});
