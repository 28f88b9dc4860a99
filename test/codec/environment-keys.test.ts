import { expect, test } from 'vitest';
import { environmentKeys } from '../../src/codec/encryption.ts';
import { key } from './payloads.ts';

const A = Buffer.from(key(1)).toString('base64');
const B = Buffer.from(key(2)).toString('base64url');

function keysOf(text: string): ReturnType<typeof environmentKeys> {
  return environmentKeys({ LONGHAUL_ENCRYPTION_KEYS: text });
}

test('keys are read in order: the first is the active one', () => {
  expect(keysOf(`new:${A}, old:${B} `)).toEqual({ activeKeyId: 'new', keys: { new: key(1), old: key(2) } });
});

test('an environment without keys has none', () => {
  expect(environmentKeys({})).toBeUndefined();
  expect(keysOf('  ')).toBeUndefined();
});

test.each([
  ['an entry without an id', A, 'Entry 1 of LONGHAUL_ENCRYPTION_KEYS has no key id'],
  ['an empty id', `:${A}`, 'Entry 1 of LONGHAUL_ENCRYPTION_KEYS has no key id'],
  ['a comma too many', `k1:${A},`, 'Entry 2 of LONGHAUL_ENCRYPTION_KEYS has no key id'],
  ['a key that is too short', 'k1:c2hvcnQ=', 'The key "k1" in LONGHAUL_ENCRYPTION_KEYS is not 32 bytes in base64'],
  ['a key that is not base64', `k1:${'!'.repeat(44)}`, 'The key "k1" in LONGHAUL_ENCRYPTION_KEYS is not 32 bytes in base64'],
  ['an id that is there twice', `k1:${A},k1:${B}`, 'LONGHAUL_ENCRYPTION_KEYS has two keys "k1"'],
])('%s is refused, and the message contains no part of a key', (_, text, message) => {
  const attempt = (): unknown => keysOf(text);
  expect(attempt).toThrow(message);
  expect(attempt).not.toThrow(A.slice(0, 12));
});
