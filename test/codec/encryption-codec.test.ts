import type { Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { EncryptionCodec, type EncryptionKeys, environmentKeys, Keyring } from '../../src/codec/encryption.ts';
import { anyPayload, jsonPayload, key, metadataOf, plain } from './payloads.ts';

function codecOf(activeKeyId: string, keys: EncryptionKeys): EncryptionCodec {
  return new EncryptionCodec(new Keyring({ activeKeyId, keys }));
}

async function encryptedWith(codec: EncryptionCodec, payload: Payload = jsonPayload('secret')): Promise<Payload> {
  const [encrypted] = await codec.encode([payload]);
  return encrypted ?? {};
}

/** Returns the error of a failed decoding. */
async function failure(codec: EncryptionCodec, payload: Payload): Promise<unknown> {
  return codec.decode([payload]).then(
    () => 'decoded',
    (error: unknown) => error,
  );
}

describe('encryption', () => {
  test('restores every payload', async () => {
    const codec = codecOf('k1', { k1: key(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(anyPayload, { maxLength: 4 }), async (payloads) => {
        const encoded = await codec.encode(payloads);
        for (const one of encoded) expect(metadataOf(one, 'encoding')).toBe('binary/aes-256-gcm');
        expect((await codec.decode(encoded)).map(plain)).toEqual(payloads.map(plain));
      }),
    );
  });

  test('shows the key id but nothing of the payload, not even its metadata, and never gives the same bytes twice', async () => {
    const codec = codecOf('2026-11', { '2026-11': key(1) });
    const payload = {
      ...jsonPayload('a well known secret'),
      metadata: { encoding: Buffer.from('json/plain'), 'my-type': Buffer.from('Order') },
    };
    const [one, other] = await codec.encode([payload, payload]);
    expect(Object.keys(one?.metadata ?? {})).toEqual(['encoding', 'encryption-key-id']);
    expect(metadataOf(one, 'encryption-key-id')).toBe('2026-11');
    for (const text of ['well known', 'json/plain', 'Order', 'my-type']) expect(Buffer.from(one?.data ?? []).includes(text)).toBe(false);
    expect(plain(one)).not.toEqual(plain(other));
  });

  test('writes with the new key after a rotation, and reads data of the old one', async () => {
    const before = await encryptedWith(codecOf('old', { old: key(1) }));
    const rotated = codecOf('new', { new: key(2), old: key(1) });
    expect((await rotated.decode([before])).map(plain)).toEqual([plain(jsonPayload('secret'))]);
    expect(metadataOf(await encryptedWith(rotated), 'encryption-key-id')).toBe('new');
  });

  test('leaves the unencrypted payloads of an older history unchanged, also among encrypted ones', async () => {
    const codec = codecOf('k1', { k1: key(1) });
    const old = jsonPayload('from before');
    const decoded = await codec.decode([old, await encryptedWith(codec), {}]);
    expect(decoded[0]).toBe(old);
    expect(decoded.map(plain)).toEqual([plain(old), plain(jsonPayload('secret')), plain({})]);
  });

  test('without keys writes clear text, and names the missing key of encrypted data', async () => {
    const none = new EncryptionCodec(undefined);
    const payload = jsonPayload('x');
    expect((await none.encode([payload]))[0]).toBe(payload);
    expect(await failure(none, await encryptedWith(codecOf('k7', { k7: key(1) })))).toMatchObject({
      code: 'encryption_key_missing',
      message: expect.stringMatching(/"k7" is missing.*codec\.encryption.*LONGHAUL_ENCRYPTION_KEYS/) as string,
    });
  });

  test('names a missing key, and a key with other bytes', async () => {
    const payload = await encryptedWith(codecOf('k1', { k1: key(1) }));
    expect(await failure(codecOf('k2', { k2: key(2) }), payload)).toMatchObject({
      code: 'encryption_key_missing',
      message: expect.stringContaining('"k1" is missing') as string,
    });
    expect(await failure(codecOf('k1', { k1: key(2) }), payload)).toMatchObject({
      code: 'decryption_failed',
      message: expect.stringContaining('does not decrypt with the key "k1"') as string,
    });
  });

  test('refuses a payload if any byte, or the key id, was changed', async () => {
    const codec = codecOf('k1', { k1: key(1), k2: key(1) });
    const payload = await encryptedWith(codec);
    const size = payload.data?.length ?? 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(size - 1), fc.integer({ min: 1, max: 255 }), async (position, change) => {
        const data = Uint8Array.from(payload.data ?? []);
        data[position] = (data[position] ?? 0) ^ change;
        expect(await failure(codec, { ...payload, data })).toMatchObject({ code: 'decryption_failed' });
      }),
    );
    // The other id has the same key: only the authentication of the id can detect it.
    const renamed = { ...payload, metadata: { ...payload.metadata, 'encryption-key-id': Buffer.from('k2') } };
    expect(await failure(codec, renamed)).toMatchObject({ code: 'decryption_failed' });
  });

  test('refuses truncated payloads of any length', async () => {
    const codec = codecOf('k1', { k1: key(1) });
    const payload = await encryptedWith(codec);
    for (const length of [0, 1, 11, 12, 20, 28, (payload.data?.length ?? 0) - 1]) {
      expect(await failure(codec, { ...payload, data: (payload.data ?? new Uint8Array()).subarray(0, length) })).toMatchObject({
        code: 'decryption_failed',
      });
    }
  });
});

describe('keys', () => {
  test('from a function are requested once each, and again after a failure', async () => {
    const keys = vi.fn<(keyId: string) => Promise<Uint8Array | undefined>>((keyId) => Promise.resolve(keyId === 'k1' ? key(1) : undefined));
    const codec = codecOf('k1', keys);
    const payloads = await codec.encode([jsonPayload(1), jsonPayload(2), jsonPayload(3)]);
    await codec.decode(payloads);
    expect(keys.mock.calls).toEqual([['k1']]);
    const foreign = await encryptedWith(codecOf('gone', { gone: key(9) }));
    expect(await failure(codec, foreign)).toMatchObject({ code: 'encryption_key_missing' });
    keys.mockImplementation(() => Promise.resolve(key(9)));
    expect((await codec.decode([foreign])).map(plain)).toEqual([plain(jsonPayload('secret'))]);
  });

  test('that a function cannot return are named with its reason', async () => {
    const codec = codecOf('k1', () => Promise.reject(new Error('the key store is away')));
    await expect(codec.encode([jsonPayload(1)])).rejects.toMatchObject({
      code: 'encryption_key_missing',
      message: expect.stringMatching(/"k1".*the key store is away/) as string,
    });
    const short = codecOf('k1', () => new Uint8Array(16));
    await expect(short.encode([jsonPayload(1)])).rejects.toThrow('The encryption key "k1" has 16 bytes');
  });

  test('in the options are checked when the codec is made', () => {
    expect(() => codecOf('k2', { k1: key(1) })).toThrow('codec.encryption.keys has no key "k2"');
    expect(() => codecOf('k1', { k1: key(1), k0: new Uint8Array(31) })).toThrow('The encryption key "k0" has 31 bytes');
    for (const keyId of ['', 'a b', 'schlüssel', 'k'.repeat(65)]) expect(() => codecOf(keyId, { [keyId]: key(1) })).toThrow('activeKeyId');
    expect(() => codecOf('toString', { k1: key(1) })).toThrow('has no key "toString"');
  });
});

const A = Buffer.from(key(1)).toString('base64');
const B = Buffer.from(key(2)).toString('base64url');

function keysOf(text: string): ReturnType<typeof environmentKeys> {
  return environmentKeys({ LONGHAUL_ENCRYPTION_KEYS: text });
}

test('keys are read in order: the first is the active one', () => {
  expect(keysOf(`new:${A}, old:${B} `)).toEqual({ activeKeyId: 'new', keys: { new: key(1), old: key(2) } });
});

test('an environment without keys has no codec', () => {
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
