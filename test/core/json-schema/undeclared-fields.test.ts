import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { undeclaredFields } from '../../../src/core/json-schema/undeclared-fields.ts';

const refund: JsonObject = {
  type: 'object',
  properties: { order: { type: 'number' }, amount: { type: 'number' }, to: { $ref: '#/$defs/account' } },
  $defs: { account: { type: 'object', properties: { iban: { type: 'string' } } } },
};

test('a field that the schema does not declare is listed with the nearest one', () => {
  expect(undeclaredFields(refund, { order: 7, ammount: 90 }, {})).toEqual([
    { path: '', message: 'unknown field "ammount". Did you mean "amount"?' },
  ]);
  expect(undeclaredFields(refund, { to: { ibann: 'x' } }, {})).toEqual([
    { path: 'to', message: 'unknown field "ibann". Did you mean "iban"?' },
  ]);
  expect(undeclaredFields(refund, { order: 7, amount: 90, to: { iban: 'x' } }, {})).toEqual([]);
});

test('a field that the model has given may stay', () => {
  expect(undeclaredFields(refund, { note: 'x', to: { bic: 'y' } }, { note: 'z', to: { bic: 'y' } })).toEqual([]);
});

test.each<[string, JsonObject]>([
  ['declares nothing', { type: 'object' }],
  ['takes any further field', { ...refund, additionalProperties: true }],
  ['says what further fields are', { ...refund, additionalProperties: { type: 'string' } }],
  ['has fields by pattern', { ...refund, patternProperties: { '^x-': {} } }],
  ['has an open choice', { ...refund, anyOf: [{ additionalProperties: { type: 'string' } }] }],
  ['declares it in a choice', { ...refund, anyOf: [{ properties: { other: {} } }] }],
])('a schema that %s accepts another field', (_, schema) => {
  expect(undeclaredFields(schema, { other: 'x' }, {})).toEqual([]);
});
