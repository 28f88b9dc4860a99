import { expect, test } from 'vitest';
import { isSecretReference, secret, UsageError } from '../../src/index.ts';

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

test('a reference is recognised by its shape, even after a round trip through JSON', () => {
  expect(isSecretReference(JSON.parse(JSON.stringify(secret('a', { prefix: 'b' }))))).toBe(true);
  for (const other of [null, 'a', { name: 'a' }, { kind: 'longhaul.secret' }, { kind: 'longhaul.secret', name: 'a', prefix: 1 }]) {
    expect(isSecretReference(other)).toBe(false);
  }
});
