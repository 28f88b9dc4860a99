import { expect, test } from 'vitest';
import { asWritten, type Schema, withFlags } from '../../studio/schema.ts';

const flag: Schema = { type: 'boolean' };
const options: Schema = { type: 'object', properties: { dryRun: flag, force: flag, note: { type: 'string' } }, required: ['dryRun'] };

test('a box that is not checked says no if it has to be there, and nothing otherwise', () => {
  expect(withFlags(options, { note: 'x' })).toEqual({ note: 'x', dryRun: false });
  expect(withFlags(options, { dryRun: true, force: false })).toEqual({ dryRun: true, force: false });
});

test('an object that nobody has filled in is omitted if it is optional', () => {
  const schema: Schema = { type: 'object', properties: { options, amount: { type: 'number' } }, required: ['amount'] };
  expect(withFlags(schema, { amount: 3 })).toEqual({ amount: 3 });
  expect(withFlags(schema, { amount: 3, options: { note: 'x' } })).toEqual({ amount: 3, options: { note: 'x', dryRun: false } });
});

test('boxes in several objects are each filled in, and in the objects of lists', () => {
  const schema: Schema = {
    type: 'object',
    properties: { first: options, second: options, all: { type: 'array', items: options } },
    required: ['first', 'second'],
  };
  expect(withFlags(schema, { all: [{}, { dryRun: true }] })).toEqual({
    first: { dryRun: false },
    second: { dryRun: false },
    all: [{ dryRun: false }, { dryRun: true }],
  });
});

test('JSON edits are sent as written, and omitted members are not invented', () => {
  const schema: Schema = {
    type: 'object',
    properties: { either: { anyOf: [options, { type: 'null' }] }, name: { type: 'string' }, list: { type: 'array', items: flag } },
    required: ['either', 'name', 'list'],
  };
  expect(withFlags(schema, { either: {} })).toEqual({ either: {} });
  expect(withFlags({ type: 'object', properties: { options } }, { options: [] })).toEqual({ options: [] });
  expect(withFlags({}, { anything: true })).toEqual({ anything: true });
  expect(withFlags({ type: 'string' }, undefined)).toBeUndefined();
});

test('JSON that a reader has written is sent unchanged, until it is edited as a form', () => {
  const written = { note: 'x' };
  asWritten.add(written);
  const schema: Schema = { type: 'object', properties: { options }, required: ['options'] };
  expect(withFlags(schema, { options: written })).toEqual({ options: { note: 'x' } });
  asWritten.delete(written);
  expect(withFlags(schema, { options: written })).toEqual({ options: { note: 'x', dryRun: false } });
});
