import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parameterNames, toolSignature } from '../../../../src/core/code/describe-functions.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { jsonSchemaOf } from '../../../../src/schema/zod-schemas.ts';

function signatures(schema: JsonObject, answer?: JsonObject): [javascript: string, python: string] {
  const tool = { name: 'f', schema, ...(answer === undefined ? {} : { answer }) };
  return [toolSignature(tool, 'javascript').text, toolSignature(tool, 'python').text];
}

/** The text of the type of one required parameter `a`. */
function typesOf(schema: JsonObject, definitions: JsonObject = {}): [javascript: string, python: string] {
  const [script, python] = signatures({ type: 'object', properties: { a: schema }, required: ['a'], ...definitions });
  return [
    script.slice('f(args: {a: '.length, -'}): any'.length),
    python.slice('def f('.length, -') -> Any'.length).replace(/^(?:\*, )?a: /, ''),
  ];
}

const NODE = { type: 'object', properties: { next: { $ref: '#/$defs/node' }, value: { type: 'string' } }, required: ['value'] };

test('arguments that may be left out are marked, and come after the others', () => {
  const schema = jsonSchemaOf(
    z.object({ note: z.string().optional(), id: z.number(), limit: z.int().default(10), tag: z.string().nullish() }),
    'f',
  );
  expect(signatures(schema)).toEqual([
    'f(args: {id: number; note?: string; limit?: number; tag?: string | null}): any',
    'def f(id: float, note: str | None = None, limit: int = 10, tag: str | None = None) -> Any',
  ]);
  expect(parameterNames({ schema })).toEqual(['id', 'note', 'limit', 'tag']);
});

test('a tool without parameters takes none', () => {
  expect(signatures({ type: 'object', properties: {}, additionalProperties: false })).toEqual(['f(): any', 'def f() -> Any']);
  expect(signatures({ type: 'object', properties: {} })).toEqual(['f(): any', 'def f() -> Any']);
  expect(signatures({ type: 'object' })).toEqual(['f(args?: object): any', 'def f(**others: Any) -> Any']);
});

test('a tool whose arguments are all optional can be called without arguments', () => {
  const schema = { type: 'object', properties: { id: { type: 'integer' } } };
  expect(signatures(schema)).toEqual(['f(args?: {id?: number}): any', 'def f(id: int | None = None) -> Any']);
});

test('the type of the result is known if the tool declares it', () => {
  const tool = { name: 'f', schema: { type: 'object' }, result: { type: 'array', items: { type: 'string' } } };
  expect(toolSignature(tool, 'javascript').text).toBe('f(args?: object): string[]');
  expect(toolSignature(tool, 'python').text).toBe('def f(**others: Any) -> list[str]');
});

test('the type of the result is known if a person answers', () => {
  const answer = { type: 'object', properties: { refund: { type: 'boolean' } }, required: ['refund'] };
  expect(signatures({ type: 'object', properties: {}, additionalProperties: false }, answer)).toEqual([
    'f(): {refund: boolean}',
    'def f() -> {"refund": bool}',
  ]);
});

describe('a schema becomes a type', () => {
  test.each<[name: string, schema: JsonObject, javascript: string, python: string]>([
    ['text', { type: 'string', minLength: 1, format: 'uuid' }, 'string', 'str'],
    ['a number', { type: 'number' }, 'number', 'float'],
    ['a whole number', { type: 'integer' }, 'number', 'int'],
    ['a number, whole or not', { type: ['integer', 'number'] }, 'number', 'float'],
    ['true or false', { type: 'boolean' }, 'boolean', 'bool'],
    ['null', { type: 'null' }, 'null', 'None'],
    ['anything', {}, 'any', 'Any'],
    ['several types', { type: ['string', 'integer', 'null'] }, 'string | number | null', 'str | int | None'],
    ['a type that OpenAPI makes nullable', { type: 'string', nullable: true }, 'string | null', 'str | None'],
    ['an enumeration', { enum: ['a', 1, true, null] }, '"a" | 1 | true | null', 'Literal["a", 1, True, None]'],
    ['an enumeration of text', { type: 'string', enum: ['a"b', 'c\nd'] }, String.raw`"a\"b" | "c\nd"`, String.raw`Literal["a\"b", "c\nd"]`],
    ['a constant', { const: 'yes' }, '"yes"', 'Literal["yes"]'],
    ['a constant null', { const: null }, 'null', 'Literal[None]'],
    ['a constant object', { const: { a: 1 } }, 'any', 'Any'],
    ['a list', { type: 'array', items: { type: 'string' } }, 'string[]', 'list[str]'],
    ['a list of anything', { type: 'array' }, 'any[]', 'list[Any]'],
    ['a list without type', { items: { type: 'integer' } }, 'number[]', 'list[int]'],
    ['a list of several types', { type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]', 'list[str | None]'],
    ['a list of choices', { type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]', 'list[Literal["a", "b"]]'],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }, '[string, number]', 'tuple[str, float]'],
    [
      'an object',
      { type: 'object', properties: { id: { type: 'integer' }, note: { type: 'string' } }, required: ['id'] },
      '{id: number; note?: string}',
      '{"id": int, "note": NotRequired[str]}',
    ],
    ['an object without type', { properties: { id: { type: 'integer' } }, required: ['id'] }, '{id: number}', '{"id": int}'],
    ['any object', { type: 'object' }, 'object', 'dict'],
    ['an empty object', { type: 'object', additionalProperties: false }, '{}', '{}'],
    ['a record', { type: 'object', additionalProperties: { type: 'number' } }, '{[key: string]: number}', 'dict[str, float]'],
    [
      'a record by pattern',
      { type: 'object', patternProperties: { '^x': { type: 'string' } } },
      '{[key: string]: string}',
      'dict[str, str]',
    ],
    [
      'an object with further fields',
      { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: { type: 'number' } },
      '{id: string; [key: string]: number}',
      '{"id": str, ...}',
    ],
    [
      'an object with any further fields',
      { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: true },
      '{id: string; [key: string]: any}',
      '{"id": str, ...}',
    ],
    [
      'names that need quotes',
      { type: 'object', properties: { 'a-b': { type: 'string' } }, required: ['a-b'] },
      '{"a-b": string}',
      '{"a-b": str}',
    ],
    ['a choice', { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }, 'string | string[]', 'str | list[str]'],
    ['a choice of one', { oneOf: [{ type: 'string' }, { type: 'string' }] }, 'string', 'str'],
    ['a choice that accepts anything', { anyOf: [{ type: 'string' }, {}] }, 'any', 'Any'],
    ['constants to choose from', { oneOf: [{ const: 'a' }, { const: 'b' }] }, '"a" | "b"', 'Literal["a", "b"]'],
    [
      'objects to choose from',
      {
        oneOf: [
          { type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] },
          { type: 'object', properties: { kind: { const: 'b' }, n: { type: 'number' } }, required: ['kind', 'n'] },
        ],
      },
      '{kind: "a"} | {kind: "b"; n: number}',
      '{"kind": Literal["a"]} | {"kind": Literal["b"], "n": float}',
    ],
    [
      'an object with one of two fields',
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      '{a?: string; b?: string}',
      '{"a": NotRequired[str], "b": NotRequired[str]}',
    ],
    [
      'objects that are both',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] },
          { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] },
        ],
      },
      '{a: string; b: number}',
      '{"a": str, "b": float}',
    ],
    ['a reference', { $ref: '#/$defs/node' }, '{next?: any; value: string}', '{"next": NotRequired[Any], "value": str}'],
    ['a reference that leads nowhere', { $ref: '#/$defs/none' }, 'any', 'Any'],
    ['a schema that refuses everything', { not: {} }, 'any', 'Any'],
    ['a type that does not exist', { type: 'money' }, 'any', 'Any'],
  ])('%s', (_, schema, javascript, python) => {
    expect(typesOf(schema, { $defs: { node: NODE } })).toEqual([javascript, python]);
  });

  test('of zod, with recursion', () => {
    interface Tree {
      name: string;
      children: Tree[];
    }
    const tree: z.ZodType<Tree> = z.object({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const [javascript] = signatures(jsonSchemaOf(z.object({ tree }), 'f'));
    expect(javascript).toBe('f(args: {tree: {name: string; children: any[]}}): any');
  });
});

describe('in Python', () => {
  test('arguments with names that it cannot spell come as one dictionary', () => {
    const schema = { type: 'object', properties: { 'user-id': { type: 'string' }, from: { type: 'string' } }, required: ['user-id'] };
    expect(signatures(schema)[1]).toBe('def f(arguments: {"user-id": str, "from": NotRequired[str]}) -> Any');
  });

  test('a first argument that may be an object is given by its name', () => {
    const schema = {
      type: 'object',
      properties: { filter: { type: 'object' }, limit: { type: 'integer' } },
      required: ['filter', 'limit'],
    };
    expect(signatures(schema)[1]).toBe('def f(*, filter: dict, limit: int) -> Any');
  });

  test('arguments of one of several forms come as one dictionary, and are known by all their names', () => {
    const schema = {
      type: 'object',
      anyOf: [
        { properties: { id: { type: 'integer' } }, required: ['id'] },
        { properties: { name: { type: 'string' } }, required: ['name'] },
      ],
    };
    expect(signatures(schema)[1]).toBe('def f(arguments: {"id": int} | {"name": str}) -> Any');
    expect(parameterNames({ schema })).toEqual(['id', 'name']);
  });
});

describe('a signature that would be long', () => {
  const deep = (levels: number): JsonObject =>
    levels === 0
      ? { type: 'string' }
      : { type: 'object', properties: Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`field${index}`, deep(levels - 1)])) };

  test('says less about deeply nested parts', () => {
    const [javascript, python] = signatures(deep(4));
    expect(javascript).toMatch(/^f\(args\?: \{field0\?: \{field0\?: object; /);
    expect(python).toMatch(/^def f\(\*, field0: \{"field0": NotRequired\[dict\], /);
    for (const text of [javascript, python]) expect(text.length).toBeLessThanOrEqual(1_200);
  });

  test('says how many values of an enumeration it leaves out', () => {
    const values = Array.from({ length: 500 }, (_, index) => `value number ${index}`);
    expect(typesOf({ enum: values })[0]).toMatch(/^"value number 0" \| .* \| … 470 more$/);
  });

  test('of very many parameters names the first of them in a hint', () => {
    const properties = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`parameter${index}`, { type: 'string' }]));
    const tool = { name: 'f', schema: { type: 'object', properties } };
    expect(toolSignature(tool, 'javascript')).toEqual({
      text: 'f(args: object): any',
      hint: expect.stringMatching(/^"parameter0", "parameter1", .*, … \(400 in all\)$/),
    });
    expect(toolSignature(tool, 'python').text).toBe('def f(**arguments) -> Any');
  });

  test('is written in few steps, however often a schema refers to itself', () => {
    const each = (to: number): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, { $ref: `#/$defs/n${to}` }])),
    });
    const $defs = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`n${index}`, each((index + 1) % 12)]));
    const [javascript] = signatures({ ...each(0), $defs });
    expect(javascript.length).toBeLessThanOrEqual(1_200);
  });
});

test('every schema has one line as its signature, of bounded length, and always the same', () => {
  const anySchema = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonObject>(
        {},
        { type: 'string' },
        { enum: ['a', '\n', null] },
        { $ref: '#' },
        { $ref: '#/properties/x' },
        { type: 7 },
      ),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 4 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { maxLength: 3 }) }),
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.dictionary(fc.oneof(fc.constant('x'), fc.string()), tie('schema'), { maxKeys: 5 }),
          required: fc.array(fc.constantFrom('x', 'y')),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        },
        { requiredKeys: ['type'] },
      ),
    ),
  })).schema;
  fc.assert(
    fc.property(anySchema, (schema) => {
      for (const text of signatures(schema)) {
        expect(text).not.toMatch(/[\n\r]/);
        expect(text.length).toBeLessThanOrEqual(1_200);
      }
      expect(signatures(schema)).toEqual(signatures(JSON.parse(JSON.stringify(schema)) as JsonObject));
    }),
  );
});
