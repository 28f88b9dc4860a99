import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import { type Choose, oneOf } from './choices.ts';

/** Texts that mean something elsewhere, or nothing anywhere. */
const TEXTS: readonly [string, ...string[]] = [
  '',
  ' ',
  'x',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '{{',
  '{{}}',
  '{{x}}',
  '{{input}}',
  '{{input.list[0]}}',
  '{{input.list[999999999]}}',
  '{{__proto__.x}}',
  'input.ticket',
  'S1',
  'u0',
  'u0.S1',
  '5s',
  '-5s',
  '1e9d',
  '999999d',
  'NaN',
  '\ud800',
  'a\u0000b\nc',
  '日本 📄',
  '{{'.repeat(500),
  'long '.repeat(800),
];

/** Numbers at and over all bounds. JSON has no NaN and no infinity: they become null. */
const NUMBERS: readonly [number, ...number[]] = [
  0,
  -0,
  1,
  -1,
  2,
  0.5,
  1e-9,
  100,
  101,
  10_000,
  10_001,
  2 ** 31,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  1e21,
  1e308,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];

/** Keys that documents do not have, including some that every object has. */
const KEYS: readonly [string, ...string[]] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'toJSON',
  'length',
  'nmae',
  'x',
  '',
  'a.b',
  '日本',
];

/** Names that a unit or a step may have, but that objects have too. */
const NAMES: readonly [string, ...string[]] = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'length',
  'S 1',
  'Ünit',
  '1',
  'S1#2',
  'a/b',
];

/** Fields that a part of a document may have, or not. */
const FIELDS: readonly (readonly [string, JsonValue])[] = [
  ['when', { of: 'input.n', is: { const: 3 } }],
  ['when', { of: 'input.missing', is: {} }],
  ['when', { of: 'input.list', is: { type: 'array', items: { type: ['string', 'object'] } } }],
  ['refine', { maxAttempts: 20, backoff: 'exponential' }],
  ['refine', { onExhaustion: 'fallback', fallback: 'S1' }],
  ['timeout', '1ms'],
  ['timeout', 315_576_000_000_000],
  ['approval', true],
  ['review', { deadline: 1, onDeadline: 'approve' }],
  ['lenient', true],
  ['needs', []],
  ['needs', ['u0']],
  ['limits', { steps: 1 }],
  ['limits', { deadline: '1ms' }],
  ['limits', { toolCallsByName: { constructor: 0, find: 1 } }],
  ['anchors', ['FactualOnly', 'Nope']],
  ['effort', 'none'],
  ['context', '{{input.ticket}}'],
  ['output', '{{u0.S1}}'],
];

/** A document that may have any form, and what was changed in it. */
export interface Mutant {
  document: unknown;
  changes: string[];
}

/** Changes one to three things in a copy of a document. */
export function mutated(document: JsonObject, choose: Choose): Mutant {
  let value: JsonValue = structuredClone(document);
  const changes: string[] = [];
  for (let left = 1 + choose(3); left > 0; left -= 1) {
    const [name, change] = oneOf(choose, MUTATIONS);
    value = change(value, choose);
    changes.push(name);
  }
  return { document: value, changes };
}

/** A member of a list or an object. */
interface Place {
  parent: JsonValue[] | JsonObject;
  key: string | number;
}

type Mutation = (document: JsonValue, choose: Choose) => JsonValue;

/** Changes of every kind. The second half mostly leaves a program that may run. */
const MUTATIONS: readonly [readonly [string, Mutation], ...(readonly [string, Mutation])[]] = [
  ['delete', at((place) => remove(place))],
  ['duplicate', at(duplicate)],
  ['rename a key', at((place, choose) => rename(place, oneOf(choose, KEYS)))],
  ['another type', at((place, choose) => put(place, oneOf<JsonValue>(choose, [null, true, 7, 'text', [], {}, [[]], { name: 'S1' }])))],
  ['move', (document, choose) => moveInto(document, choose)],
  ['a list as an object, or an object as a list', at((place) => put(place, turned(valueOf(place))))],
  ['an unknown key', at((place, choose) => define(objectOf(place), oneOf(choose, KEYS), oneOf<JsonValue>(choose, [1, {}, 'x'])))],
  ['nested deeply', at((place, choose) => put(place, nested(valueOf(place), 1 + choose(130))))],
  ['a number', typed('number', (place, choose) => put(place, oneOf(choose, NUMBERS)))],
  ['a number', typed('number', (place, choose) => put(place, oneOf(choose, NUMBERS)))],
  ['a text', typed('string', (place, choose) => put(place, oneOf(choose, TEXTS)))],
  ['a reference', typed('string', changeReference)],
  ['a field', at((place, choose) => addField(objectOf(place), choose))],
  ['a field', at((place, choose) => addField(objectOf(place), choose))],
  ['the order', at((place) => put(place, reversed(valueOf(place))))],
  ['another name everywhere', renamedEverywhere],
  ['another name everywhere', renamedEverywhere],
  ['steps in blocks', wrapStep],
  ['steps in blocks', wrapStep],
  ['a text in a prompt', typed('string', (place) => put(place, `${textOf(place)} {{input.n}}`))],
];

/** Makes a mutation that changes one place, or does not change a document without places. */
function at(change: (place: Place, choose: Choose) => void): Mutation {
  return (document, choose) => {
    const places = placesIn(document);
    const place = places[choose(Math.max(1, places.length))];
    if (place !== undefined) change(place, choose);
    return document;
  };
}

function typed(type: 'string' | 'number', change: (place: Place, choose: Choose) => void): Mutation {
  return (document, choose) => {
    const places = placesIn(document).filter((place) => typeof valueOf(place) === type);
    const place = places[choose(Math.max(1, places.length))];
    if (place !== undefined) change(place, choose);
    return document;
  };
}

function placesIn(document: JsonValue): Place[] {
  const places: Place[] = [];
  const open: JsonValue[] = [document];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const parent = value;
    const keys = Array.isArray(parent) ? parent.keys() : Object.keys(parent);
    for (const key of keys) {
      places.push({ parent, key });
      open.push((parent as Record<string | number, JsonValue>)[key] ?? null);
    }
  }
  return places;
}

function valueOf({ parent, key }: Place): JsonValue {
  return (parent as Record<string | number, JsonValue>)[key] ?? null;
}

function textOf(place: Place): string {
  const value = valueOf(place);
  return typeof value === 'string' ? value : '';
}

function put({ parent, key }: Place, value: JsonValue): void {
  define(parent, key, value);
}

/** Sets an own property of any name, also of `__proto__`. JSON has no lists with names. */
function define(object: JsonValue[] | JsonObject, key: string | number, value: JsonValue): void {
  if (Array.isArray(object) && typeof key === 'string') return;
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function remove({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[String(key)];
}

function duplicate(place: Place): void {
  const copy = structuredClone(valueOf(place));
  if (Array.isArray(place.parent)) place.parent.splice(Number(place.key), 0, copy);
  else define(place.parent, `${place.key}2`, copy);
}

function rename(place: Place, key: string): void {
  const value = valueOf(place);
  remove(place);
  define(place.parent, key, value);
}

function moveInto(document: JsonValue, choose: Choose): JsonValue {
  const places = placesIn(document);
  const from = places[choose(Math.max(1, places.length))];
  const to = places[choose(Math.max(1, places.length))];
  if (from === undefined || to === undefined) return document;
  // A copy: a value that is moved into itself would be a cycle.
  const value = structuredClone(valueOf(from));
  remove(from);
  if (Array.isArray(to.parent)) to.parent.push(value);
  else define(to.parent, String(from.key), value);
  return document;
}

/** Returns the value of a place if it is an object, else the object around it. */
function objectOf(place: Place): JsonValue[] | JsonObject {
  const value = valueOf(place);
  return isJsonObject(value) ? value : place.parent;
}

function turned(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return Object.fromEntries(value.map((item, key) => [String(key), item]));
  return isJsonObject(value) ? Object.values(value) : [value];
}

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.toReversed();
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).toReversed()) : value;
}

function nested(value: JsonValue, levels: number): JsonValue {
  let inner = value;
  for (let level = 0; level < levels; level += 1) inner = level % 2 === 0 ? [inner] : { inner };
  return inner;
}

/** Replaces the names in the braces of a text, or in a reference without braces. */
function changeReference(place: Place, choose: Choose): void {
  const other = oneOf(choose, [
    'S1',
    'S2',
    'S3',
    'input.list',
    'input.none',
    'u0.S1',
    'u1.S1',
    'item',
    '__proto__',
    'S1.output.n',
    'S1["a b"]',
  ]);
  const text = textOf(place);
  put(place, text.includes('{{') ? text.replace(/\{\{[^}]*\}\}/, `{{${other}}}`) : other);
}

function addField(object: JsonValue[] | JsonObject, choose: Choose): void {
  const [key, value] = FIELDS[choose(FIELDS.length)] ?? ['x', 1];
  if (!Array.isArray(object)) define(object, key, structuredClone(value));
}

/** Gives a unit or a step another name, in its references too: the program stays equivalent. */
function renamedEverywhere(document: JsonValue, choose: Choose): JsonValue {
  const names = placesIn(document).flatMap((place) => {
    const value = valueOf(place);
    return place.key === 'name' && typeof value === 'string' && /^(S|u)\d+$/.test(value) ? [value] : [];
  });
  const name = names[choose(Math.max(1, names.length))];
  if (name === undefined) return document;
  const other = oneOf(choose, NAMES);
  const word = new RegExp(`\\b${name}\\b`, 'g');
  return replaced(document, (text) => text.replaceAll(word, () => other));
}

function replaced(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => replaced(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member, change)]));
}

/** Puts the steps of a list into blocks, one inside the other. */
function wrapStep(document: JsonValue, choose: Choose): JsonValue {
  const lists = placesIn(document).filter((place) => place.key === 'steps' && Array.isArray(valueOf(place)));
  const place = lists[choose(Math.max(1, lists.length))];
  if (place === undefined) return document;
  let steps = valueOf(place);
  for (let level = choose(4) === 0 ? choose(20) : 1; level > 0; level -= 1) {
    const name = `W${level}${choose(1_000)}`;
    const until = { of: 'input.none', is: {} };
    const block: JsonObject = oneOf<JsonObject>(choose, [
      { name, parallel: { branches: [steps] } },
      { name, branch: { cases: [{ when: { of: 'input.n', is: { const: choose(5) } }, steps }] } },
      { name, forEach: { in: 'input.list', as: `i${name}`, steps } },
      { name, repeat: { until, atMost: oneOf(choose, [1, 2, 300]), steps } },
    ]);
    steps = [block];
  }
  put(place, steps);
  return document;
}
