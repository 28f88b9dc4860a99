import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkableSchema, modernSchema, usableSchema } from '../../activities/mcp/read-tool.ts';
import { pinSchema } from '../../activities/mcp/list-tools.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { refusals, strictRefusals } from './provider-rules.ts';

/** The schema of one property `a`. */
function of(property: JsonValue, more: JsonObject = {}): JsonObject {
  return { type: 'object', properties: { a: property }, ...more };
}

const S = { type: 'string' };
const N = { type: 'number' };

/** Kinds of schemas: each with arguments that it accepts. */
const KINDS: Record<string, [form: string, schema: JsonObject, fits: JsonObject[]][]> = {
  'an object without properties': [
    ['alone', { type: 'object' }, [{}, { any: 1 }]],
    ['closed', { type: 'object', additionalProperties: false }, [{}]],
    ['open', { type: 'object', additionalProperties: true }, [{ a: 1 }]],
    ['of texts', { type: 'object', additionalProperties: S }, [{ a: 'x' }]],
    ['with empty properties', { type: 'object', properties: {} }, [{}]],
    ['with a required name', { type: 'object', required: ['a'] }, [{ a: 1 }]],
    ['inside a property', of({ type: 'object' }), [{ a: { b: 1 } }]],
    ['inside a list', of({ type: 'array', items: { type: 'object' } }), [{ a: [{ b: 1 }] }]],
    ['with patterns', { type: 'object', patternProperties: { '^x-': S } }, [{ 'x-a': 'b' }]],
    ['with names', { type: 'object', propertyNames: { pattern: '^a' } }, [{ ab: 1 }]],
    ['with a count', { type: 'object', minProperties: 1 }, [{ a: 1 }]],
    ['with a dialect', { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', type: 'object' }, [{}]],
  ],
  'a union at the root': [
    [
      'anyOf of required fields',
      { type: 'object', properties: { a: S, b: S }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      [{ a: 'x' }, { b: 'x' }],
    ],
    [
      'anyOf of objects',
      { type: 'object', anyOf: [of(S, { required: ['a'] }), { type: 'object', properties: { b: N }, required: ['b'] }] },
      [{ a: 'x' }, { b: 1 }],
    ],
    ['anyOf without a type', { type: 'object', anyOf: [{ properties: { a: S } }, { properties: { b: S } }] }, [{ a: 'x' }, { b: 'y' }]],
    [
      'oneOf with a kind',
      {
        type: 'object',
        oneOf: [
          { properties: { kind: { const: 'f' }, path: S }, required: ['kind', 'path'] },
          { properties: { kind: { const: 'u' }, url: S }, required: ['kind', 'url'] },
        ],
      },
      [
        { kind: 'f', path: 'x' },
        { kind: 'u', url: 'y' },
      ],
    ],
    [
      'oneOf that closes',
      {
        type: 'object',
        oneOf: [
          of(S, { additionalProperties: false, required: ['a'] }),
          { type: 'object', properties: { b: S }, additionalProperties: false, required: ['b'] },
        ],
      },
      [{ a: 'x' }, { b: 'x' }],
    ],
    ['allOf', { type: 'object', allOf: [of(S), { properties: { b: N }, required: ['b'] }] }, [{ a: 'x', b: 1 }]],
    ['allOf of references', { type: 'object', allOf: [{ $ref: '#/$defs/x' }], $defs: { x: of(S, { required: ['a'] }) } }, [{ a: 'x' }]],
    [
      'anyOf of references',
      { type: 'object', anyOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/y' }], $defs: { x: of(S), y: of(N) } },
      [{ a: 'x' }, { a: 1 }],
    ],
    [
      'anyOf inside anyOf',
      { type: 'object', anyOf: [{ anyOf: [of(S), { properties: { b: N } }] }, { properties: { c: S } }] },
      [{ a: 'x' }, { b: 1 }, { c: 'x' }],
    ],
    ['anyOf with null', { type: 'object', properties: { a: S }, anyOf: [{ required: ['a'] }, { type: 'null' }] }, [{ a: 'x' }]],
    ['not', { type: 'object', properties: { a: S }, not: { required: ['b'] } }, [{ a: 'x' }]],
    ['enum', { type: 'object', properties: { a: S }, enum: [{ a: 'x' }] }, [{ a: 'x' }]],
    [
      'if, then and else',
      // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
      { type: 'object', properties: { a: S }, if: of({ const: 'x' }), then: { properties: { b: N } }, else: { properties: { c: N } } },
      [
        { a: 'x', b: 1 },
        { a: 'y', c: 1 },
      ],
    ],
    ['anyOf that refers to the root', { type: 'object', anyOf: [{ $ref: '#' }, of(S)] }, []],
  ],
  'a union inside': [
    ['of types', of({ anyOf: [S, N] }), [{ a: 'x' }, { a: 1 }]],
    ['with null', of({ anyOf: [S, { type: 'null' }] }), [{ a: 'x' }, { a: null }]],
    ['of an object and null', of({ anyOf: [of(S), { type: 'null' }] }), [{ a: { a: 'x' } }, { a: null }]],
    [
      'of objects by kind',
      of({
        oneOf: [
          { type: 'object', properties: { k: { const: 'a' } } },
          { type: 'object', properties: { k: { const: 'b' }, n: N } },
        ],
      }),
      [{ a: { k: 'a' } }, { a: { k: 'b', n: 1 } }],
    ],
    ['of anything and a text', of({ anyOf: [S, {}] }), [{ a: 'x' }, { a: [1] }]],
    ['of one', of({ oneOf: [S] }), [{ a: 'x' }]],
    ['inside a union', of({ anyOf: [{ anyOf: [S, N] }, { type: 'boolean' }] }), [{ a: 'x' }, { a: 1 }, { a: true }]],
    ['of texts', of({ anyOf: [{ const: 'x' }, { const: 'y' }, { enum: ['z'] }] }), [{ a: 'x' }, { a: 'z' }]],
    [
      'next to a type',
      of({ type: 'object', properties: { b: S, c: S }, anyOf: [{ required: ['b'] }, { required: ['c'] }] }),
      [{ a: { b: 'x' } }, { a: { c: 'x' } }],
    ],
    ['next to a string type', of({ type: 'string', anyOf: [{ minLength: 3 }, { enum: ['x'] }] }), [{ a: 'x' }, { a: 'abc' }]],
    ['as allOf', of({ allOf: [{ type: 'string' }, { minLength: 1 }, { description: 'A text' }] }), [{ a: 'x' }]],
    [
      'as allOf of bounds that differ',
      of({
        allOf: [
          { type: 'number', minimum: 1 },
          { type: 'integer', minimum: 3 },
        ],
      }),
      [{ a: 4 }],
    ],
    [
      'of lists',
      of({
        anyOf: [
          { type: 'array', items: S },
          { type: 'array', items: N },
        ],
      }),
      [{ a: ['x'] }, { a: [1] }],
    ],
    ['in a list', of({ type: 'array', items: { oneOf: [S, { type: 'null' }] } }), [{ a: ['x', null] }]],
  ],
  'a list': [
    ['without items', of({ type: 'array' }), [{ a: [1, 'x', null] }]],
    ['with items of anything', of({ type: 'array', items: {} }), [{ a: [1, { b: 2 }] }]],
    ['with items: true', of({ type: 'array', items: true }), [{ a: [1] }]],
    ['with items: false', of({ type: 'array', items: false }), [{ a: [] }]],
    ['of lists without items', of({ type: 'array', items: { type: 'array' } }), [{ a: [[1]] }]],
    ['as a tuple of draft 7', of({ type: 'array', items: [S, N] }), [{ a: ['x', 1] }, { a: ['x', 1, true] }]],
    ['as a closed tuple of draft 7', of({ type: 'array', items: [S, N], additionalItems: false }), [{ a: ['x', 1] }]],
    ['as a tuple', of({ type: 'array', prefixItems: [S, N] }), [{ a: ['x', 1] }, { a: ['x', 1, {}] }]],
    ['as a closed tuple', of({ type: 'array', prefixItems: [S, N], items: false }), [{ a: ['x', 1] }]],
    ['as a tuple with more', of({ type: 'array', prefixItems: [S], items: N }), [{ a: ['x', 1, 2] }]],
    ['without a type', of({ items: S }), [{ a: ['x'] }]],
    ['with counts and unique items', of({ type: 'array', items: S, minItems: 1, maxItems: 3, uniqueItems: true }), [{ a: ['x', 'y'] }]],
    ['or null', of({ type: ['array', 'null'], items: S }), [{ a: ['x'] }, { a: null }]],
    ['that contains', of({ type: 'array', items: S, contains: { const: 'x' } }), [{ a: ['x'] }]],
  ],
  'a reference': [
    ['to $defs', of({ $ref: '#/$defs/x' }, { $defs: { x: S } }), [{ a: 'x' }]],
    ['to definitions', of({ $ref: '#/definitions/x' }, { definitions: { x: S } }), [{ a: 'x' }]],
    ['to components', of({ $ref: '#/components/schemas/x' }, { components: { schemas: { x: S } } }), [{ a: 'x' }]],
    ['to a property', of({ $ref: '#/properties/b' }, { properties: { a: { $ref: '#/properties/b' }, b: N } }), [{ a: 1 }]],
    [
      'with a description',
      of({ $ref: '#/$defs/x', description: 'Own' }, { $defs: { x: { type: 'string', description: 'Other' } } }),
      [{ a: 'x' }],
    ],
    ['to a reference', of({ $ref: '#/$defs/x' }, { $defs: { x: { $ref: '#/$defs/y' }, y: S } }), [{ a: 'x' }]],
    [
      'in a circle',
      of({ $ref: '#/$defs/x' }, { $defs: { x: { type: 'object', properties: { x: { $ref: '#/$defs/x' }, v: S } } } }),
      [{ a: { x: { x: { x: { v: 'deep' } } } } }],
    ],
    [
      'in a circle of lists',
      of({ $ref: '#/$defs/x' }, { $defs: { x: { type: 'array', items: { $ref: '#/$defs/x' } } } }),
      [{ a: [[[[]]]] }],
    ],
    [
      'in a circle of two',
      of(
        { $ref: '#/$defs/x' },
        {
          $defs: {
            x: { type: 'object', properties: { y: { $ref: '#/$defs/y' } } },
            y: { type: 'object', properties: { x: { $ref: '#/$defs/x' } } },
          },
        },
      ),
      [{ a: { y: { x: { y: {} } } } }],
    ],
    ['to itself alone', of({ $ref: '#/$defs/x' }, { $defs: { x: { $ref: '#/$defs/x' } } }), []],
    ['to the root', of({ $ref: '#' }), [{ a: { a: { a: { a: {} } } } }]],
    ['to nowhere', of({ $ref: '#/$defs/none' }), []],
    ['to another server', of({ $ref: 'https://example.com/a.json' }), []],
    [
      'of JSON values',
      of(
        { $ref: '#/$defs/j' },
        {
          $defs: {
            j: {
              anyOf: [
                S,
                N,
                { type: 'null' },
                { type: 'array', items: { $ref: '#/$defs/j' } },
                { type: 'object', additionalProperties: { $ref: '#/$defs/j' } },
              ],
            },
          },
        },
      ),
      [{ a: [[[['x']]]] }, { a: { b: { c: [1] } } }],
    ],
    ['with a malformed pointer', of({ $ref: '#/%zz' }), []],
  ],
  'a type': [
    ['or null', of({ type: ['string', 'null'] }), [{ a: 'x' }, { a: null }]],
    ['or another', of({ type: ['string', 'number'] }), [{ a: 'x' }, { a: 1 }]],
    ['or two others', of({ type: ['string', 'integer', 'null'] }), [{ a: 'x' }, { a: 1 }, { a: null }]],
    ['of all kinds', of({ type: ['string', 'number', 'boolean', 'object', 'array', 'null'] }), [{ a: 'x' }, { a: [1] }, { a: { b: 1 } }]],
    ['in a list of one', of({ type: ['string'] }), [{ a: 'x' }]],
    ['of integers and numbers', of({ type: ['integer', 'number'] }), [{ a: 1.5 }]],
    ['of null', of({ type: 'null' }), [{ a: null }]],
    ['that is missing', of({ description: 'Any' }), [{ a: 1 }, { a: {} }]],
    ['true', of(true), [{ a: 1 }]],
    ['false', of(false), [{}]],
    ['of objects, with properties or null', of({ type: ['object', 'null'], properties: { b: S } }), [{ a: { b: 'x' } }, { a: null }]],
    ['that only the properties show', of({ properties: { b: S } }), [{ a: { b: 'x' } }]],
    ['nullable, as OpenAPI writes it', of({ type: 'string', nullable: true }), [{ a: 'x' }]],
  ],
  'a fixed value': [
    ['const', of({ const: 'x' }), [{ a: 'x' }]],
    ['const of a number', of({ const: 5 }), [{ a: 5 }]],
    ['const of null', of({ const: null }), [{ a: null }]],
    ['const of a list', of({ const: [1] }), [{ a: [1] }]],
    ['const of true', of({ type: 'boolean', const: true }), [{ a: true }]],
    ['enum of texts', of({ enum: ['x', 'y'] }), [{ a: 'x' }]],
    ['enum with null', of({ type: ['string', 'null'], enum: ['x', null] }), [{ a: 'x' }, { a: null }]],
    ['enum of numbers', of({ type: 'integer', enum: [1, 2] }), [{ a: 2 }]],
    ['enum of all kinds', of({ enum: ['x', 1, 1.5, true, null] }), [{ a: 'x' }, { a: 1.5 }, { a: true }, { a: null }]],
    ['enum with an empty text', of({ type: 'string', enum: ['', 'x'] }), [{ a: '' }, { a: 'x' }]],
    ['enum with a value twice', of({ type: 'string', enum: ['x', 'x'] }), [{ a: 'x' }]],
    ['enum of objects', of({ enum: [{ b: 1 }] }), [{ a: { b: 1 } }]],
    ['enum of another type', of({ type: 'string', enum: [1, 2] }), []],
    ['enum of many', of({ type: 'string', enum: Array.from({ length: 600 }, (_, index) => `v${index}`) }), [{ a: 'v599' }]],
  ],
  'a name': [
    ['with a blank', { type: 'object', properties: { 'a b': S } }, [{ 'a b': 'x' }]],
    ['with a dollar', { type: 'object', properties: { $filter: S }, required: ['$filter'] }, [{ $filter: 'x' }]],
    ['with an at sign', { type: 'object', properties: { '@type': S } }, [{ '@type': 'x' }]],
    ['of another script', { type: 'object', properties: { größe: N } }, [{ größe: 1 }]],
    ['with brackets', { type: 'object', properties: { 'ids[]': { type: 'array' } } }, [{ 'ids[]': [1] }]],
    ['that is long', { type: 'object', properties: { ['a'.repeat(80)]: S } }, [{ ['a'.repeat(80)]: 'x' }]],
    ['that is empty', { type: 'object', properties: { '': S } }, [{ '': 'x' }]],
    ['with a slash', { type: 'object', properties: { 'a/b': S }, additionalProperties: false }, [{ 'a/b': 'x' }]],
    ['inside an object', of({ type: 'object', properties: { 'a:b': S }, required: ['a:b'] }), [{ a: { 'a:b': 'x' } }]],
    ['with dots and dashes', { type: 'object', properties: { 'a.b-c_d': S } }, [{ 'a.b-c_d': 'x' }]],
    ['like a keyword', { type: 'object', properties: { type: S, properties: S, enum: S, required: S } }, [{ type: 'x', required: 'y' }]],
    ['that is required alone', of(S, { required: ['a', 'b'] }), [{ a: 'x', b: 1 }]],
    ['like a prototype', { type: 'object', properties: { constructor: S, toString: S } }, [{ constructor: 'x' }]],
  ],
  'a keyword': [
    ['format of an integer', of({ type: 'integer', format: 'int64' }), [{ a: 1 }]],
    ['format of a float', of({ type: 'number', format: 'double' }), [{ a: 1.5 }]],
    ['format of an address', of({ type: 'string', format: 'uri' }), [{ a: 'https://x' }]],
    ['format of a time', of({ type: 'string', format: 'date-time' }), [{ a: '2020-01-01T00:00:00Z' }]],
    ['a format that nobody knows', of({ type: 'string', format: 'phone' }), [{ a: 'x' }]],
    ['look-around in a pattern', of({ type: 'string', pattern: '^(?=a)a$' }), [{ a: 'a' }]],
    ['a pattern that does not compile', of({ type: 'string', pattern: '(' }), []],
    ['exclusive bounds', of({ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 2 }), [{ a: 1 }]],
    ['exclusive bounds of draft 4', of({ type: 'number', minimum: 0, exclusiveMinimum: true }), [{ a: 1 }]],
    ['bounds that are too large', of({ type: 'integer', minimum: -9.3e18, maximum: 9.3e18 }), [{ a: 1 }]],
    ['a default and examples', of({ type: 'string', default: 'x', examples: ['y'], example: 'z' }), [{ a: 'x' }]],
    ['x- keywords', of({ type: 'string', 'x-order': 1, 'x-mcp-header': 'A' }), [{ a: 'x' }]],
    ['readOnly, deprecated and comments', of({ type: 'string', readOnly: true, deprecated: true, $comment: 'c' }), [{ a: 'x' }]],
    ['dependencies', of(S, { dependentRequired: { a: ['b'] }, dependencies: { a: ['b'] } }), [{ a: 'x', b: 1 }]],
    ['unevaluatedProperties', of(S, { unevaluatedProperties: false }), [{ a: 'x' }]],
    ['encoded content', of({ type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' }), [{ a: 'aGk=' }]],
  ],
};

const CASES = Object.entries(KINDS).flatMap(([kind, forms]) => forms.map((form) => [kind, ...form] as const));

test('each kind has at least twelve forms', () => {
  expect(Object.values(KINDS).filter((forms) => forms.length < 12)).toEqual([]);
});

test.each(CASES)(
  '%s, %s: no provider refuses the sent schema, and it accepts what the original schema accepts',
  (_kind, _form, schema, fits) => {
    const sent = portableSchema(modernSchema(schema));
    expect(refusals(sent)).toEqual([]);
    const whole = checkableSchema(schema);
    for (const args of fits) expect([checkJson(whole, args), checkJson(sent, args)]).toEqual([[], []]);
  },
);

test.each(CASES)('%s, %s: no provider refuses the schema that a run pins for a server', (_kind, _form, schema) => {
  const { parameters, strict } = pinSchema(usableSchema(schema).schema ?? {});
  expect(strict ? strictRefusals(parameters) : refusals(parameters)).toEqual([]);
});

test('parts that are left out are described in the description', () => {
  const schema = of(
    { type: 'number', description: 'Size', exclusiveMinimum: 0, multipleOf: 2, default: 4 },
    { description: 'All', additionalProperties: N, properties: { a: N, 'b c': { type: 'string', description: 'Odd' } }, required: ['b c'] },
  );
  expect(portableSchema({ ...schema, anyOf: [{ required: ['a'] }, { required: ['c'] }] })['description']).toBe(
    'All (takes one of these forms: {a} or {c}, also takes the field "b c", which is required: string (Odd), fields of any other name, each: number)',
  );
  expect(portableSchema({ type: 'number', description: 'Size', exclusiveMinimum: 0, multipleOf: 2, default: 4 })).toEqual({
    type: 'number',
    description: 'Size (greater than 0, a multiple of 2) (default: 4)',
  });
});

test('a schema that refers to itself in many ways stays small', () => {
  const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
  const node = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/node' }])) };
  const schema = {
    ...node,
    anyOf: names.map(() => ({ $ref: '#/$defs/node' })),
    $defs: { node: { ...node, oneOf: [{ $ref: '#/$defs/node' }, { allOf: [{ $ref: '#/$defs/node' }] }] } },
  };
  const sent = portableSchema(schema);
  expect(refusals(sent)).toEqual([]);
  expect(JSON.stringify(sent).length).toBeLessThan(100_000);
});

/** A schema, and a value that it is meant to accept. */
interface Pair {
  schema: JsonObject;
  value: JsonValue;
}

const NAMES = ['a', 'b', 'c', 'd e', '$x', 'type'];

const leaf: fc.Arbitrary<Pair> = fc.oneof(
  fc.string({ maxLength: 5 }).map((value) => ({ schema: { type: 'string' }, value })),
  fc
    .string({ minLength: 1, maxLength: 5 })
    .map((value) => ({ schema: { type: 'string', minLength: 1, maxLength: 10, format: 'uri', default: value }, value })),
  fc
    .integer({ min: -5, max: 5 })
    .map((value) => ({ schema: { type: 'integer', minimum: -5, exclusiveMaximum: 6, format: 'int32' }, value })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({ schema: { type: ['number', 'string'] }, value: value + 0 })),
  fc.boolean().map((value) => ({ schema: { type: ['boolean', 'null'] }, value })),
  fc.constantFrom<JsonValue>('x', '', 1, 1.5, true, null, [1], { k: 1 }).map((value) => ({ schema: { const: value }, value })),
  fc.constantFrom<JsonValue>('x', 'y', 3, null).map((value) => ({ schema: { enum: ['x', 'y', 3, null] }, value })),
  fc.constant<Pair>({ schema: { type: ['string', 'null'], enum: ['x', null], 'x-order': 1 }, value: null }),
  fc.constant<Pair>({ schema: {}, value: [1, { a: null }] }),
  fc.constant<Pair>({ schema: { $ref: '#/$defs/leaf' }, value: 'x' }),
  fc.constant<Pair>({ schema: { $ref: '#/$defs/tree' }, value: { kids: [{ kids: [{ name: 'n', kids: [] }] }] } }),
);

function objectFrom(entries: [name: string, pair: Pair, isRequired: boolean, isGiven: boolean][], isClosed: boolean): Pair {
  const given = entries.filter(([, , isRequired, isGiven]) => isRequired || isGiven);
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
      required: entries.filter(([, , isRequired]) => isRequired).map(([name]) => name),
      ...(isClosed ? { additionalProperties: false } : {}),
    },
    value: Object.fromEntries(given.map(([name, { value }]) => [name, value])),
  };
}

function objects(inner: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> {
  const entry = fc.tuple(fc.constantFrom(...NAMES), inner, fc.boolean(), fc.boolean());
  return fc
    .tuple(fc.uniqueArray(entry, { maxLength: 4, selector: ([name]) => name }), fc.boolean())
    .map(([entries, isClosed]) => objectFrom(entries, isClosed));
}

const { node } = fc.letrec<{ node: Pair }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    leaf,
    objects(tie('node')),
    fc
      .array(tie('node'), { minLength: 1, maxLength: 1 })
      .map(([one]) => ({ schema: { type: 'array', items: one?.schema ?? {} }, value: [one?.value ?? null, one?.value ?? null] })),
    fc
      .tuple(tie('node'), tie('node'))
      .map(([a, b]) => ({ schema: { type: 'array', prefixItems: [a.schema, b.schema], items: false }, value: [a.value, b.value] })),
    fc
      .tuple(tie('node'), tie('node'))
      .map(([a, b]) => ({ schema: { type: 'array', items: [a.schema, b.schema] }, value: [a.value, b.value, 'more'] })),
    tie('node').map(({ schema, value }) => ({ schema: { type: 'object', additionalProperties: schema }, value: { any: value } })),
    fc
      .tuple(tie('node'), tie('node'), fc.constantFrom('anyOf', 'oneOf'))
      .map(([a, b, union]) => ({ schema: { [union]: [a.schema, b.schema] }, value: a.value })),
    tie('node').map(({ schema, value }) => ({ schema: { allOf: [schema, { description: 'One' }] }, value })),
    tie('node').map(({ schema }) => ({ schema: { anyOf: [schema, { type: 'null' }] }, value: null })),
  ),
}));

const DEFINITIONS: JsonObject = {
  leaf: { type: 'string', description: 'A leaf' },
  tree: { type: 'object', properties: { name: S, kids: { type: 'array', items: { $ref: '#/$defs/tree' } } } },
};

/** Schemas of arguments: objects, and unions of them at the root. */
const roots: fc.Arbitrary<Pair> = fc
  .oneof(
    objects(node),
    fc
      .tuple(objects(node), objects(node), fc.constantFrom('anyOf', 'oneOf'))
      .map(([a, b, union]) => ({ schema: { type: 'object', [union]: [a.schema, b.schema] }, value: a.value })),
    fc.tuple(objects(node), objects(node)).map(([a, b]) => ({ schema: { ...a.schema, anyOf: [b.schema, {}] }, value: a.value })),
  )
  .map(({ schema, value }) => ({ schema: { ...schema, $defs: DEFINITIONS }, value }));

test('no provider refuses the sent form of any schema, and it accepts every value that the schema is meant to accept', () => {
  fc.assert(
    fc.property(roots, ({ schema, value }) => {
      const sent = portableSchema(modernSchema(schema));
      expect(refusals(sent)).toEqual([]);
      // A value that fits both branches of a `oneOf`, or breaks the closed branch next to it, does not fit the schema.
      fc.pre(checkJson(checkableSchema(schema), value).length === 0);
      expect(checkJson(sent, value)).toEqual([]);
      const { parameters, strict } = pinSchema(schema);
      expect(strict ? strictRefusals(parameters) : refusals(parameters)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test('any JSON as an input schema is left out, or sent in a form that no provider refuses', () => {
  const keyword = fc.constantFrom(
    'type',
    'properties',
    'required',
    'items',
    'enum',
    'anyOf',
    'allOf',
    '$ref',
    '$defs',
    'additionalProperties',
    'description',
    'minimum',
    'pattern',
    'format',
    'const',
  );
  const odd = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'medium' },
      fc.constantFrom<JsonValue>(null, true, false, 1, -1, '', 'string', 'object', 'array', '#', '#/$defs/a', 'x'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(keyword, fc.constantFrom('a', 'b c')), tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  fc.assert(
    fc.property(odd, (given) => {
      const { schema } = usableSchema(given);
      if (schema === undefined) return;
      const { parameters, strict } = pinSchema(schema);
      expect(strict ? strictRefusals(parameters) : refusals(parameters)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});
