import { defaultFailureConverter, defaultPayloadConverter, type Payload } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CompressionCodec, createCodecs, markingCodecs, markingConverter } from '../../src/codec/with-codec.ts';
import { EncryptionCodec, Keyring } from '../../src/codec/encryption.ts';
import { whyUnreadable } from '../../src/core/domain/json.ts';
import { jsonPayload, key, metadataOf, plain } from './payloads.ts';

const encryption = new EncryptionCodec(new Keyring({ activeKeyId: 'k1', keys: { k1: key(1) } }));
const [marking] = markingCodecs([encryption]);
const converter = markingConverter({
  payloadConverter: defaultPayloadConverter,
  failureConverter: defaultFailureConverter,
  payloadCodecs: [...createCodecs({ compression: true, encryption: { activeKeyId: 'k1', keys: { k1: key(1) } } })],
});

function payload(encoding: string, data: string, keyId?: string): Payload {
  const named = keyId === undefined ? {} : { 'encryption-key-id': Buffer.from(keyId) };
  return { metadata: { encoding: Buffer.from(encoding), ...named }, data: Buffer.from(data) };
}

describe('a codec of a worker', () => {
  test('replaces a payload that cannot be decoded by one with the reason, and leaves the others unchanged', async () => {
    const [sound] = await encryption.encode([jsonPayload({ a: 1 })]);
    const decoded = await marking?.decode([sound ?? {}, payload('binary/aes-256-gcm', 'changed', 'k1'), jsonPayload('clear')]);
    expect(decoded?.map((one) => metadataOf(one, 'encoding'))).toEqual([
      'json/plain',
      expect.stringMatching(/^unreadable: A payload does not decrypt with the key "k1"/),
      'json/plain',
    ]);
    expect(plain(decoded?.[0])).toEqual(plain(jsonPayload({ a: 1 })));
  });

  test('repeats the reason in the error of a converter that does not know the marker', async () => {
    const [compression] = markingCodecs([new CompressionCodec(true)]);
    const [decoded = {}] = (await compression?.decode([payload('binary/zstd', 'x')])) ?? [];
    expect(() => defaultPayloadConverter.fromPayload(decoded)).toThrow(
      'unreadable: A compressed payload of 1 bytes does not decompress: it was changed, or is not a zstd frame',
    );
  });

  test('throws for a missing key: another worker may have it', async () => {
    const rejected = marking?.decode([payload('binary/aes-256-gcm', 'x', 'k2')]);
    await expect(rejected).rejects.toMatchObject({ code: 'encryption_key_missing', message: expect.stringContaining('"k2"') as string });
  });

  test('throws for a key that has decrypted nothing so far: it may have the wrong bytes, and another worker the right ones', async () => {
    const [sound = {}] = await encryption.encode([jsonPayload('mine')]);
    const wrong = new EncryptionCodec(new Keyring({ activeKeyId: 'k1', keys: { k1: key(2) } }));
    const [doubting] = markingCodecs([wrong], { doubtKeys: true });
    await expect(doubting?.decode([sound])).rejects.toMatchObject({ code: 'decryption_failed' });
    await doubting?.decode(await wrong.encode([jsonPayload('its own')]));
    const [decoded] = (await doubting?.decode([sound])) ?? [];
    expect(metadataOf(decoded, 'encoding')).toContain('unreadable: A payload does not decrypt with the key "k1"');
  });

  test.each([undefined, '', 'two words', 'ü', 'x'.repeat(65)])(
    'does not wait for a key with the id %j, which no process can have',
    async (keyId) => {
      const [decoded] = (await marking?.decode([payload('binary/aes-256-gcm', 'x', keyId)])) ?? [];
      expect(metadataOf(decoded, 'encoding')).toBe(
        'unreadable: An encrypted payload does not name the key that it was encrypted with: send it again',
      );
    },
  );

  test('is applied once, even if it is made twice', () => {
    const codecs = markingCodecs([encryption]);
    expect(markingCodecs(codecs)).toEqual(codecs);
    expect(markingCodecs(codecs)[0]).toBe(codecs[0]);
  });
});

describe('a converter for payloads of any sender', () => {
  test('gives the reason why it cannot read a value with an unknown encoding, or one that cannot be decoded', async () => {
    const encodings = fc.constantFrom('x', '', 'binary/zstd', 'binary/aes-256-gcm');
    const reasons = fc.sample(fc.tuple(encodings, fc.uint8Array({ maxLength: 80 })), 200).map(async ([encoding, data]) => {
      const metadata = { encoding: Buffer.from(encoding), 'encryption-key-id': Buffer.from('k1') };
      const [value] = await decodeArrayFromPayloads(converter, [{ metadata, data }]);
      return whyUnreadable(value);
    });
    expect(new Set((await Promise.all(reasons)).map((reason) => reason?.replaceAll(/\d+ bytes/g, 'some bytes')))).toEqual(
      new Set([
        'the encoding "x" of the payload is unknown',
        'the encoding "" of the payload is unknown',
        'A compressed payload of some bytes does not decompress: it was changed, or is not a zstd frame',
        expect.stringContaining('A payload does not decrypt with the key "k1"'),
      ]),
    );
  });

  test('still throws for a missing key', async () => {
    const reading = decodeArrayFromPayloads(converter, [payload('binary/aes-256-gcm', 'x', 'k9')]);
    await expect(reading).rejects.toMatchObject({ code: 'encryption_key_missing' });
  });
});
