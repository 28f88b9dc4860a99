import { EventEmitter } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { isJsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { screenedDeps } from '../../../src/core/saved/saved-context.ts';
import { secret } from '../../../src/index.ts';
import { anyJson } from './arbitrary-contexts.ts';

const SECRET = 'v8-Kq2-secret-value';

/** Keys of credentials, as people write them. */
const credentialKey = fc.constantFrom(
  'api_key',
  'APIKEY',
  'Token',
  'client_secret',
  'dbPassword',
  'passwd',
  'Authorization',
  'credentialId',
  'private_key',
  'AWS_ACCESS_KEY',
  'x_auth_token',
  'bearer',
  'privateKey',
  'pwd',
  'X-Api-Key',
);

/** A value with live objects and credentials at random places. */
const hiding: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    fc.constantFrom('text', 1, null),
    fc.constantFrom(() => SECRET, new EventEmitter(), Symbol(SECRET), new Map([['a', SECRET]]), secret(SECRET)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 3 }),
    fc
      .tuple(credentialKey, fc.oneof(fc.constant(SECRET), fc.constant({ inner: [SECRET] })))
      .map(([key, value]) => ({ [key]: value, kept: 1 })),
  ),
})).value;

describe('deps that leave a run', () => {
  it('have no credential, function or live object anywhere (property)', () => {
    fc.assert(
      fc.property(hiding, (value) => {
        const deps = screenedDeps({ value });
        const text = JSON.stringify(deps);
        expect(text).not.toContain(SECRET);
        expect(JSON.parse(text)).toEqual(deps);
      }),
      { numRuns: 500 },
    );
  });

  it('are unchanged if they are JSON without such keys (property)', () => {
    fc.assert(
      fc.property(
        anyJson.filter((value) => !mentions(value)),
        (value) => {
          expect(screenedDeps({ value })).toEqual({ value });
        },
      ),
    );
  });

  test.each<[string, unknown, unknown]>([
    ['a time becomes a text', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['an invalid time is dropped', { at: new Date(Number.NaN) }, {}],
    ['numbers that are not finite are dropped', { a: Number.NaN, b: [Infinity, 1] }, { b: [1] }],
    ['undefined is dropped', { a: undefined, b: [undefined, 1] }, { b: [1] }],
    ['a value that is not an object', ['a'], {}],
    ['nothing', undefined, {}],
  ])('%s', (_, deps, expected) => {
    expect(screenedDeps(deps)).toEqual(expected);
  });

  test('a cycle is cut where it leads back', () => {
    const cycle: Record<string, unknown> = { a: 1 };
    cycle['self'] = cycle;
    expect(screenedDeps({ cycle })).toEqual({ cycle: { a: 1 } });
  });
});

function mentions(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(mentions);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, one]) => /key|token|secret|pass|pwd|auth|cred|bearer/i.test(key) || mentions(one));
}
