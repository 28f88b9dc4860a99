import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { depsProblem, stateProblem } from '../../../src/core/domain/deps.ts';
import { secret } from '../../../src/index.ts';
import { BYTE_BUDGETS } from '../../../src/core/domain/byte-budgets.ts';

class Pool {
  readonly size = 1;
}

const cycle: Record<string, unknown> = {};
cycle['self'] = [cycle];

describe('a value that JSON cannot hold is refused with its path and the remedy', () => {
  test.each<[string, unknown, RegExp]>([
    ['a function', { a: { b: [1, () => 1] } }, /^deps\.a\.b\[1\] is a function: .*"resources" of the worker$/],
    ['a method', { toJSON: () => ({}) }, /^deps\.toJSON is a function/],
    ['a symbol', { a: Symbol('s') }, /^deps\.a is a symbol/],
    ['a bigint', { 'x-id': 1n }, /^deps\["x-id"\] is a bigint/],
    ['a hole in a list', { a: Array(1) }, /^deps\.a\[0\] is undefined/],
    ['a live object', { pool: new Pool() }, /^deps\.pool is an object of class "Pool": .*"resources"/],
    ['a Map', { a: new Map() }, /^deps\.a is an object of class "Map": .*Write Object\.fromEntries\(map\)$/],
    ['a Date', { at: new Date(0) }, /^deps\.at is an object of class "Date": .*Write date\.toISOString\(\)$/],
    ['bytes', { a: Buffer.from('x') }, /^deps\.a is an object of class "Buffer"/],
    ['a cycle', cycle, /^deps\.self\[0\] leads back to an object that it is part of/],
    ['not a number', { a: Number.NaN }, /^deps\.a is NaN/],
    ['infinity', { a: [-Infinity] }, /^deps\.a\[0\] is -Infinity/],
    ['a value that is nested too deep', JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`), /nested deeper than 64 levels/],
    ['a live object as the whole', new Pool(), /^deps is an object of class "Pool"/],
    ['nothing as the whole', undefined, /^deps is undefined/],
  ])('%s', (_, deps, problem) => {
    expect(depsProblem(deps)).toMatch(problem);
  });
});

describe('a secret is refused, and the error says where to read secrets', () => {
  test('a reference', () => {
    const problem = depsProblem({ crm: { token: secret('crm-token', { prefix: 'Bearer ' }) } });
    expect(problem).toMatch(/^deps\.crm\.token is a reference to secret "crm-token": .*await context\.secret\("crm-token"\)$/);
  });

  test.each(
    'api_key apiKey API-Key APIKey apikey X-Api-Key stripeApiKey apiKeys password passwd DB_PASSWORD userPassword secret client_secret clientSecret secretKey authorization Authorization credential credentials privateKey access-key secret_access_key token TOKEN bearer bearerToken auth_token accessToken refresh-token apiToken oauth_token'.split(
      ' ',
    ),
  )('a text under the key "%s"', (key) => {
    expect(depsProblem({ crm: [{ [key]: 'v8-Kq2' }] })).toMatch(
      /^deps\.crm\[0\].* is a text under the name of a credential, .*await context\.secret\(name\)/,
    );
    expect(depsProblem({ [key]: ['v8-Kq2'] })).toContain('[0] is a text');
  });

  test('the error does not contain the secret', () => {
    expect(depsProblem({ password: 'v8-Kq2' })).not.toContain('v8-Kq2');
  });
});

describe('other data is accepted', () => {
  test.each(
    'tokenBudget token_count nextPageToken maxTokens tokens passwordChangedAt accessKeyId secretary apiKeyName authorizationUrl keyboard compass tokenType key author'.split(
      ' ',
    ),
  )('a text under the key "%s"', (key) => {
    expect(depsProblem({ [key]: 'text' })).toBeUndefined();
  });

  test('a value that is not text under the key of a credential', () => {
    expect(
      depsProblem({ token: 7, password: true, secret: null, credential: '', authorization: { role: 'admin' }, apiKey: undefined }),
    ).toBeUndefined();
  });

  test('the same object in two places, an object without a prototype, and objects of another realm', () => {
    const shared = { id: 1 };
    expect(depsProblem({ a: shared, b: [shared] })).toBeUndefined();
    expect(depsProblem(Object.assign(Object.create(null), { a: 1 }))).toBeUndefined();
    expect(depsProblem(runInContext('({ a: [{ b: 1 }] })', createContext()))).toBeUndefined();
  });

  test('any JSON whose keys name no credential', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(depsProblem(value)).toBeUndefined();
      }),
    );
  });
});

const state = { kept: 'a' };
/** Text that makes the state `more` bytes larger than the budget. */
const fill = (more: number): string => 'x'.repeat(BYTE_BUDGETS.state - JSON.stringify({ ...state, big: '' }).length + more);

test.each([
  ['one byte below the budget', -1, undefined],
  ['at the budget', 0, undefined],
  [
    'one byte above the budget',
    1,
    'The field "state" would be 150001 bytes of JSON, over 150000: setting "big" changed nothing. Keep less in the state.',
  ],
])('%s', (_, more, problem) => {
  expect(stateProblem(state, { big: fill(more) })).toBe(problem);
});

test('a key that is set again counts once, for any name', () => {
  expect(stateProblem({ ['__proto__']: fill(0) }, JSON.parse(`{"__proto__":"${fill(-100)}"}`) as { __proto__: string })).toBeUndefined();
});

test('a call that changes nothing is never refused', () => {
  expect(stateProblem({ big: fill(1_000) }, {})).toBeUndefined();
});
