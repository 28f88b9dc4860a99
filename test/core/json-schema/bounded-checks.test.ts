import { afterEach, expect, test, vi } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { checkRunInput, messageProblem } from '../../../src/core/input-checks.ts';
import { checkJson, type Leaf, problemsText, reduceUnions, type ValidatorError } from '../../../src/core/json-schema/check-json-schema.ts';
import { CheckMeter } from '../../../src/core/json-schema/compiled-schema.ts';
import { removeAddedNulls } from '../../../src/core/json-schema/read-by-schema.ts';
import { checkOutput } from '../../../src/model/check-output.ts';

/** Counts the work of checking a value, so that a bound does not depend on the machine. */
class CountedWork {
  /** Number of times that a member of a counted value was read. */
  reads = 0;
  #earlierUnits = 0;
  readonly #meters = new Set<CheckMeter>();

  constructor() {
    const begin = CheckMeter.prototype.begin;
    const count = (meter: CheckMeter): void => {
      if (this.#meters.has(meter)) this.#earlierUnits += meter.spent;
      this.#meters.add(meter);
    };
    vi.spyOn(CheckMeter.prototype, 'begin').mockImplementation(function (this: CheckMeter, allowed: number) {
      count(this);
      begin.call(this, allowed);
    });
  }

  /** Units of the validator, in all passes over all values. */
  get units(): number {
    return [...this.#meters].reduce((sum, { spent }) => sum + spent, this.#earlierUnits);
  }

  /** Wraps a value so that each read of a member is counted. */
  counted(value: JsonValue): JsonValue {
    if (typeof value !== 'object' || value === null) return value;
    const members = Array.isArray(value)
      ? value.map((one) => this.counted(one))
      : Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.counted(one)]));
    return new Proxy(members, {
      get: (target, key, receiver): JsonValue => {
        this.reads += 1;
        return Reflect.get(target, key, receiver) as JsonValue;
      },
    });
  }
}

/** The size of the worst values, in characters of JSON. */
const SIZE = 400_000;

/** The allowed number of member reads and validator units per character of JSON. */
const PER_CHARACTER = 40;

/** The allowed cost of any value. */
const ANY_VALUE = 60_000;

// The bound is on counted work and not on time, because the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

afterEach(() => {
  vi.restoreAllMocks();
});

const TEXT: JsonObject = { type: 'string' };
const CHOICE: JsonObject = { anyOf: [TEXT, { type: 'object', properties: { a: TEXT }, required: ['a'] }] };
const ONE_OF: JsonObject = { oneOf: [TEXT, { type: 'null' }, { type: 'array', items: TEXT }] };
const NESTED: JsonObject = { anyOf: [CHOICE, { anyOf: [ONE_OF, { type: 'array', items: CHOICE }] }, { type: 'array', items: ONE_OF }] };
const MANY_NAMES = Array.from({ length: 300 }, (_, index) => `field${index}`);
/** Choices that differ only in a field at the end: each level could be visited twice. */
const TWICE: JsonObject = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      anyOf: [
        { type: 'object', properties: { child: { $ref: '#/$defs/node' } }, required: ['x'] },
        { type: 'object', properties: { child: { $ref: '#/$defs/node' } }, required: ['y'] },
      ],
    },
  },
};

/** A list of members with `SIZE` characters of JSON. */
function listOf(member: (index: number) => JsonValue): JsonValue[] {
  const list: JsonValue[] = [];
  for (let size = 0; size < SIZE; size += JSON.stringify(list.at(-1)).length + 1) list.push(member(list.length));
  return list;
}

function objectOf(member: (index: number) => JsonValue): JsonObject {
  return Object.fromEntries(Array.from({ length: SIZE / 10 }, (_, index) => [`k${index}`, member(index)]));
}

function chain(levels: number): JsonValue {
  let value: JsonValue = {};
  for (let level = 0; level < levels; level += 1) value = { child: value };
  return value;
}

const array = (items: JsonObject): JsonObject => ({ type: 'array', items });

const SCHEMAS: [string, JsonObject, () => JsonValue][] = [
  ['numbers where a union is expected', array(CHOICE), () => listOf(() => 1)],
  ['a union that fits everywhere but at the end', array(CHOICE), () => [...listOf(() => ''), 1]],
  ['numbers where exactly one choice is expected', array(ONE_OF), () => listOf(() => 1)],
  ['lists where unions of unions are expected', array(NESTED), () => listOf(() => [1, [2]])],
  ['objects without any of many required fields', array({ type: 'object', required: MANY_NAMES }), () => listOf(() => ({}))],
  ['the same next to a choice that fits', array({ anyOf: [{ type: 'object', required: MANY_NAMES }, {}] }), () => listOf(() => ({}))],
  ['fields that are not allowed', { type: 'object', additionalProperties: false }, () => objectOf(() => 1)],
  ['a map of values that do not fit', { type: 'object', additionalProperties: CHOICE }, () => objectOf(() => 1)],
  ['names that do not fit', { type: 'object', propertyNames: { pattern: '^[A-Z]+$' } }, () => objectOf(() => 1)],
  ['one of many values', array({ enum: MANY_NAMES }), () => listOf(() => 'none')],
  ['items that must differ, and do', { type: 'array', uniqueItems: true }, () => listOf((index) => [index])],
  ['items that must differ, but the last two do not', { type: 'array', uniqueItems: true }, () => [...listOf((index) => index), 1]],
  ['lists of items that must differ', array({ type: 'array', uniqueItems: true }), () => listOf((index) => [index, index + 1, index])],
  ['texts that match no pattern', array({ type: 'string', pattern: '^(a+)b$' }), () => listOf(() => 'aaaa')],
  ['a choice that each level could be gone through twice for', TWICE, () => chain(60)],
  ['an item that must be there', { type: 'array', contains: TEXT }, () => listOf(() => 1)],
];

test.each(SCHEMAS)('%s: the work is proportional to the size of the value, and at most 20 problems are named', (_, schema, valueOf) => {
  const plain = valueOf();
  const size = JSON.stringify(plain).length;
  const work = new CountedWork();
  const problems = checkJson(schema, work.counted(plain));
  expect(problems.length).toBeLessThanOrEqual(21);
  expect(problemsText(problems).length).toBeLessThan(10_000);
  expect(work.reads).toBeLessThan(ANY_VALUE + PER_CHARACTER * size);
  expect(work.units).toBeLessThan(ANY_VALUE + PER_CHARACTER * size);
});

test.each([
  ['numbers', (): JsonValue => listOf(() => 1)],
  ['parts of no type', (): JsonValue => listOf(() => ({ type: 'x' }))],
  ['parts with fields that they do not have', (): JsonValue => listOf((index) => ({ type: 'text', text: '', [`k${index}`]: 1 }))],
  ['parts that fit but the last', (): JsonValue => [...listOf(() => ({ type: 'text', text: '' })), { type: 'text' }]],
])('a message, and an input, of %s is refused with a short message, and with work proportional to its size', (_, contentOf) => {
  const plain = contentOf();
  const size = JSON.stringify(plain).length;
  const work = new CountedWork();
  const content = work.counted(plain);
  expect(messageProblem({ id: 'm1', content })).toMatchObject({ code: 'invalid_input' });
  const checked = checkRunInput({ agent: 'a', input: content });
  expect(checked).toMatchObject({ ok: false, code: 'invalid_input' });
  expect(checked.ok ? '' : checked.problem).toContain('input[');
  expect(checked.ok ? '' : checked.problem.slice(10_000)).toBe('');
  expect(work.reads).toBeLessThan(2 * (ANY_VALUE + PER_CHARACTER * size));
  expect(work.units).toBeLessThan(2 * (ANY_VALUE + PER_CHARACTER * size));
});

test('a structured output that does not fit is refused with work proportional to its size', () => {
  const plain = { list: listOf(() => 1) };
  const work = new CountedWork();
  const schema = { type: 'object', properties: { list: array(NESTED) }, required: ['list'] };
  expect(checkOutput(work.counted(plain), { schema, zod: undefined })).toMatchObject({ type: 'problem' });
  expect(work.reads).toBeLessThan(ANY_VALUE + PER_CHARACTER * SIZE);
  expect(work.units).toBeLessThan(ANY_VALUE + PER_CHARACTER * SIZE);
});

test('for nulls that stand for missing fields, indistinguishable choices are tried a bounded number of times', () => {
  const work = new CountedWork();
  const value = chain(60);
  expect(removeAddedNulls(TWICE, work.counted(value))).toEqual(value);
  expect(work.units).toBeLessThan(10 * ANY_VALUE);
});

test('a large valid value is accepted, with a union of many choices for each of its items', () => {
  const choices = Array.from({ length: 20 }, (_, index) => ({
    type: 'object',
    properties: { kind: { const: `kind${index}` }, value: { type: 'number' }, note: TEXT },
    required: ['kind', 'value'],
    additionalProperties: false,
  }));
  const list = listOf((index) => ({ kind: `kind${index % 20}`, value: index }));
  expect(checkJson(array({ anyOf: choices }), list)).toEqual([]);
  expect(
    checkRunInput({ agent: 'a', input: Array.from({ length: 15_000 }, (_, index) => ({ type: 'text', text: index === 0 ? 'x' : '' })) }),
  ).toMatchObject({
    ok: true,
  });
});

test('if validating a value takes too many steps, the value is refused with the remedy', () => {
  expect(problemsText(checkJson(TWICE, chain(60)))).toBe(
    'the value could not be checked: it takes too many steps with this schema. Give less at once',
  );
});

test('if there are more problems than the limit, the first is named, and that there may be more', () => {
  expect(
    problemsText(
      checkJson(
        array(CHOICE),
        listOf(() => 1),
      ),
    ),
  ).toBe('[0]: expected string or object, got number; and there may be more problems');
  expect(
    problemsText(
      checkJson(
        array(CHOICE),
        Array.from({ length: 100 }, () => 1),
      ),
    ),
  ).toMatch(/^(\[\d+\]: [^;]+; ){20}and 80 more problems$/);
});

test("a pattern is checked with at most 10,000 characters, and a format's pattern with any number", () => {
  const schema = { type: 'string', pattern: 'a$' };
  expect(checkJson(schema, 'a'.repeat(10_000))).toEqual([]);
  expect(problemsText(checkJson(schema, 'a'.repeat(10_001)))).toBe(
    'expected at most 10000 characters, the maximum for checking a pattern, got more',
  );
  expect(problemsText(checkJson(schema, 'b'))).toBe('expected text that matches "a$", got "b"');
  expect(checkJson({ type: 'string', pattern: '^a+$', format: 'base64' }, 'a'.repeat(20_000))).toEqual([]);
});

test('the items of short lists that must differ are compared; a long list with a repeated item is refused for its length', () => {
  const schema = { type: 'array', uniqueItems: true };
  const items = Array.from({ length: 500 }, (_, index) => ({ index }));
  expect(checkJson(schema, items)).toEqual([]);
  expect(problemsText(checkJson(schema, [...items.slice(0, 9), { index: 3 }]))).toContain('Duplicate items at indexes 3 and 9');
  expect(problemsText(checkJson(schema, [...items, { index: 3 }]))).toBe(
    'expected at most 200 items where none may repeat another, got 501',
  );
});

test('problems inside unions are sorted by visiting each once, however many values do not fit', () => {
  const unions: ValidatorError[] = [];
  const leaves: Leaf[] = [];
  let looks = 0;
  for (let index = 0; index < 3_000; index += 1) {
    unions.push({ keyword: 'anyOf', keywordLocation: '#/items/anyOf', instanceLocation: `#/${index}`, error: '' });
    for (const choice of [0, 1]) {
      const where = `#/items/anyOf/${choice}/type`;
      leaves.push({
        at: [String(index)],
        get where() {
          looks += 1;
          return where;
        },
        expected: [String(choice)],
      });
    }
  }
  expect(reduceUnions(unions, leaves)).toHaveLength(3_000);
  expect(looks).toBeLessThan(10 * leaves.length);
});
