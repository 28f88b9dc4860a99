import { defaultPayloadConverter, type DataConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { decode, encode } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/data-converter-helpers.js';
import { describe, expect, test, vi } from 'vitest';
import type { CodecOptions } from '../../src/codec/encryption.ts';
import { FAILURE_CONVERTER_PATH, withCodec } from '../../src/codec/with-codec.ts';
import { jsonPayload, key, metadataOf, plain } from './payloads.ts';

const encryption = { activeKeyId: 'k1', keys: { k1: key(1) } };

async function encoded(converter: DataConverter, payload: Payload): Promise<Payload> {
  return (await encode(converter.payloadCodecs ?? [], [payload]))[0] ?? {};
}

async function decoded(converter: DataConverter, payload: Payload): Promise<Payload> {
  return (await decode(converter.payloadCodecs ?? [], [payload]))[0] ?? {};
}

/** A user's codec that inverts the bits of the data. */
const turning: PayloadCodec = { encode: turned, decode: turned };

function turned(payloads: Payload[]): Promise<Payload[]> {
  return Promise.resolve(payloads.map((one) => ({ ...one, data: (one.data ?? new Uint8Array()).map((byte) => byte ^ 255) })));
}

describe('a data converter with the codec', () => {
  test('compresses before it encrypts, and reads both', async () => {
    const both = withCodec({}, { compression: true, encryption });
    const payload = jsonPayload('the same again '.repeat(10_000));
    const wire = await encoded(both, payload);
    expect(metadataOf(wire, 'encoding')).toBe('binary/aes-256-gcm');
    expect(wire.data?.length).toBeLessThan(1_000);
    expect(plain(await decoded(both, wire))).toEqual(plain(payload));
  });

  test.each<[string, CodecOptions | undefined]>([
    ['no options', undefined],
    ['empty options', {}],
    ['compression alone', { compression: true }],
  ])('with %s leaves small payloads and failures in clear text', async (_, codec) => {
    const converter = withCodec(undefined, codec);
    const payload = jsonPayload('small');
    expect(await encoded(converter, payload)).toBe(payload);
    expect(converter.failureConverterPath).toBeUndefined();
  });

  test("encrypts the output of the user's codecs, and keeps the rest of the converter", async () => {
    const payload = jsonPayload('x');
    const externalStorage = withCodec({ payloadCodecs: [turning], payloadConverterPath: '/somewhere.js' }, { encryption });
    expect(externalStorage.payloadConverterPath).toBe('/somewhere.js');
    const wire = await encoded(externalStorage, payload);
    expect(metadataOf(wire, 'encoding')).toBe('binary/aes-256-gcm');
    expect(plain(await decoded(withCodec({}, { encryption }), wire))).toEqual(plain((await turning.encode([payload]))[0]));
    expect(plain(await decoded(externalStorage, wire))).toEqual(plain(payload));
  });

  test('is applied once, with the options that were given last', async () => {
    const once = withCodec({ payloadCodecs: [turning] }, { encryption });
    expect(withCodec(once)).toBe(once);
    expect(withCodec(once, { encryption }).payloadCodecs).toHaveLength(3);
    const later = withCodec(withCodec({}), { encryption });
    expect(metadataOf(await encoded(later, jsonPayload(1)), 'encoding')).toBe('binary/aes-256-gcm');
    expect(later.payloadCodecs).toHaveLength(2);
  });

  test('with encryption moves message and stack of a failure into a payload, and back', () => {
    const { failureConverter } = loadDataConverter(withCodec({}, { encryption }));
    const failure = failureConverter.errorToFailure(new Error('the secret is 42'), defaultPayloadConverter);
    expect(failure).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
    const back = failureConverter.failureToError(failure, defaultPayloadConverter);
    expect(back.message).toBe('the secret is 42');
    expect(back.stack).toContain('with-codec.test.ts');
  });

  test('refuses another failure converter together with encryption, because messages would stay in clear text', () => {
    expect(() => withCodec({ failureConverterPath: '/mine.js' }, { encryption })).toThrow('failureConverterPath is "/mine.js"');
    expect(withCodec({ failureConverterPath: '/mine.js' }, { compression: true })).toHaveProperty('failureConverterPath', '/mine.js');
    expect(withCodec({ failureConverterPath: FAILURE_CONVERTER_PATH }, { encryption }).payloadCodecs).toHaveLength(2);
  });

  test('takes keys from the environment, and reports if there are none', async () => {
    vi.stubEnv('LONGHAUL_ENCRYPTION_KEYS', '');
    expect(() => withCodec({}, { encryption: 'environment' })).toThrow('LONGHAUL_ENCRYPTION_KEYS is not set');
    vi.stubEnv('LONGHAUL_ENCRYPTION_KEYS', `from-env:${Buffer.from(key(3)).toString('base64')}`);
    const wire = await encoded(withCodec({}, { encryption: 'environment' }), jsonPayload(1));
    expect(metadataOf(wire, 'encryption-key-id')).toBe('from-env');
    vi.unstubAllEnvs();
  });
});
