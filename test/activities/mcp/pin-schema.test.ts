import { expect, test } from 'vitest';
import { pinSchema } from '../../../activities/mcp/list-tools.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { checkJson } from '../../../src/core/json-schema/check-json-schema.ts';

/** The problems of arguments, according to the pinned schema. */
function problems(schema: JsonObject, args: JsonObject): string[] {
  return checkJson(pinSchema(schema).schema, args).map(({ message }) => message);
}

test('a schema that providers can enforce is enforced, with optional fields made nullable', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { path: { type: 'string' }, head: { type: 'number', default: 10 } },
    required: ['path'],
  };
  expect(pinSchema(schema)).toMatchObject({
    strict: true,
    parameters: { required: ['path', 'head'], additionalProperties: false },
    schema: { properties: schema.properties, required: ['path'] },
  });
  expect(problems(schema, { head: 'x' })).toEqual(expect.arrayContaining(['expected number, got string', 'missing required field "path"']));
});

test('other schemas are sent in the forms that every provider takes, and checked as the server wrote them', () => {
  const tags = { type: 'object', additionalProperties: { type: 'integer' } };
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { tags, ids: { type: 'array' } } };
  expect(pinSchema(schema)).toMatchObject({
    strict: false,
    parameters: {
      type: 'object',
      properties: {
        tags: { type: 'object', description: '(fields of any other name, each: integer)', properties: {} },
        ids: { type: 'array', items: { description: 'Any value' } },
      },
    },
  });
  expect(problems(schema, { tags: { a: 'x' } })).toEqual(['expected integer, got string']);
});

test('references to definitions of older drafts are resolved', () => {
  const schema = {
    type: 'object',
    properties: { node: { $ref: '#/definitions/node' } },
    definitions: { node: { type: 'object', properties: { size: { type: 'integer' } } } },
  };
  expect(problems(schema, { node: { size: 'big' } })).toEqual(['expected integer, got string']);
  expect(problems(schema, { node: { size: 1 } })).toEqual([]);
});

test('tuples of older drafts are validated', () => {
  const schema = {
    type: 'object',
    properties: { at: { type: 'array', items: [{ type: 'number' }, { type: 'number' }], additionalItems: false } },
  };
  expect(problems(schema, { at: [1, 2] })).toEqual([]);
  expect(problems(schema, { at: [1, 'x'] })).toEqual(['expected number, got string']);
});

test('a pattern is left to the server: it could be invalid or take forever', () => {
  const schema = {
    type: 'object',
    properties: { slow: { type: 'string', pattern: '^(a+)+$' }, wrong: { type: 'string', pattern: '(' } },
    patternProperties: { '^(b+)+$': { type: 'string' } },
    additionalProperties: false,
  };
  expect(JSON.stringify(pinSchema(schema).schema)).not.toContain('attern');
  expect(problems(schema, { slow: `${'a'.repeat(50)}!`, wrong: 'x', bbb: 'fits' })).toEqual([]);
});

test.each([
  ['to nowhere', { type: 'object', properties: { a: { $ref: '#/nowhere' } } }],
  ['to another server', { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } }],
  ['in circles', { type: 'object', anyOf: [{ $ref: '#' }] }],
])('a schema with references %s requires an object, and is not enforced', (_, schema) => {
  expect(pinSchema(schema)).toMatchObject({ strict: false, schema: { type: 'object' } });
  expect(problems(schema, { a: 1 })).toEqual([]);
});
