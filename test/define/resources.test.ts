import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/core/domain/errors.ts';
import { isSecretReference, resource, secret } from '../../src/index.ts';

const open = (): object => ({});

test('a resource keeps its options, with its times in milliseconds', () => {
  const close = (): void => undefined;
  expect(resource({ open, close, healthEvery: '2m', timeout: 500 })).toEqual({
    kind: 'longhaul.resource',
    open,
    close,
    lazy: false,
    healthEveryMs: 120_000,
    timeoutMs: 500,
  });
  expect(resource({ open, lazy: true })).toMatchObject({ lazy: true, healthEveryMs: 30_000, timeoutMs: 30_000 });
});

describe('invalid options are refused', () => {
  test.each([
    [{}, '"open" is undefined: write a function'],
    [{ open: {} }, '"open" is {}: write a function'],
    [{ open, close: 1 }, '"close" is 1: write a function'],
    [{ open, health: true }, '"health" is true: write a function'],
    [{ open, lazy: 'yes' }, '"lazy" is "yes": write true or false'],
    [{ open, healthEvery: 0 }, '"healthEvery" is 0: write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
    [{ open, timeout: 'soon' }, '"timeout" is "soon": write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
  ])('%o', (options, problem) => {
    expect(() => resource(options as never)).toThrow(new UsageError(`a resource: ${problem}`));
  });

  test('an unknown option is refused too', () => {
    expect(() => resource({ open, closes: open } as never)).toThrow('a resource has an unknown option "closes" (known: open, close');
  });
});

test('a secret is a name, with the text before its value', () => {
  expect(secret('crm-token')).toEqual({ kind: 'longhaul.secret', name: 'crm-token' });
  expect(secret('team/crm_token.v2', { prefix: 'Bearer ' })).toEqual({
    kind: 'longhaul.secret',
    name: 'team/crm_token.v2',
    prefix: 'Bearer ',
  });
});

test.each(['', ' crm', 'crm token', '/etc/passwd', 'a//b', 'a/', '..', '../other', 'a/../b', './a', 'schlüssel', 'a\n', 'n'.repeat(101)])(
  'the name %j is refused',
  (name) => expect(() => secret(name)).toThrow(UsageError),
);

test.each([[{ prefix: 7 }], [{ suffix: 'x' }]])('the options %j are refused', (options) => {
  expect(() => secret('crm-token', options as never)).toThrow(/^secret "crm-token"/);
});

test('a reference is recognized by its shape, even after a round trip through JSON', () => {
  expect(isSecretReference(JSON.parse(JSON.stringify(secret('a', { prefix: 'b' }))))).toBe(true);
  for (const other of [null, 'a', { name: 'a' }, { kind: 'longhaul.secret' }, { kind: 'longhaul.secret', name: 'a', prefix: 1 }]) {
    expect(isSecretReference(other)).toBe(false);
  }
});
