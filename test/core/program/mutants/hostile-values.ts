import type { JsonValue } from '../../../../src/core/domain/json.ts';

/** Texts that mean something elsewhere, or nothing anywhere. */
export const TEXTS: readonly [string, ...string[]] = [
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
export const NUMBERS: readonly [number, ...number[]] = [
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
export const KEYS: readonly [string, ...string[]] = [
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
export const NAMES: readonly [string, ...string[]] = [
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
export const FIELDS: readonly (readonly [string, JsonValue])[] = [
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
