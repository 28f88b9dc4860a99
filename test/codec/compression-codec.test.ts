import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { CompressionCodec } from '../../src/codec/with-codec.ts';
import { anyPayload, bytesPayload, metadataOf, plain } from './payloads.ts';

function text(length: number): ReturnType<typeof bytesPayload> {
  return bytesPayload(Buffer.alloc(length, 'a sentence that says little '));
}

async function encodingOf(codec: CompressionCodec, length: number): Promise<string> {
  const [encoded] = await codec.encode([text(length)]);
  return metadataOf(encoded, 'encoding');
}

describe('compression', () => {
  test('restores every payload', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPayload, { maxLength: 4 }), fc.nat(2_000), async (payloads, threshold) => {
        const codec = new CompressionCodec({ threshold });
        const decoded = await codec.decode(await codec.encode(payloads));
        expect(decoded.map(plain)).toEqual(payloads.map(plain));
      }),
    );
  });

  test('restores payloads above the size from which the thread pool is used', async () => {
    const codec = new CompressionCodec(true);
    const payload = bytesPayload(Buffer.from(randomBytes(1_000_000).toString('hex')));
    const [encoded] = await codec.encode([payload]);
    expect(encoded?.data?.length).toBeLessThan(1_100_000);
    expect((await codec.decode([encoded ?? {}])).map(plain)).toEqual([plain(payload)]);
  });

  test('restores payloads of any size: one that is larger than what may be decompressed is not compressed', async () => {
    const codec = new CompressionCodec(true);
    for (const [size, encoding] of [
      [60, 'binary/zstd'],
      [65, 'json/plain'],
    ] as const) {
      const payload = text(size * 1_024 * 1_024);
      const [encoded] = await codec.encode([payload]);
      expect(metadataOf(encoded, 'encoding')).toBe(encoding);
      const [decoded] = await codec.decode([encoded ?? {}]);
      expect(Buffer.compare(decoded?.data ?? Buffer.alloc(0), payload.data ?? Buffer.alloc(0))).toBe(0);
    }
  });

  test.each([
    { compression: true, threshold: 32_000 },
    { compression: { threshold: 500 }, threshold: 500 },
  ])('begins at $threshold bytes of data, and leaves data that is one byte shorter unchanged', async ({ compression, threshold }) => {
    const codec = new CompressionCodec(compression);
    expect(await encodingOf(codec, threshold - 1)).toBe('json/plain');
    expect(await encodingOf(codec, threshold)).toBe('binary/zstd');
    expect(await encodingOf(codec, threshold + 1)).toBe('binary/zstd');
  });

  test('with a threshold of 0 compresses data of every size that becomes smaller, and no other', async () => {
    const codec = new CompressionCodec({ threshold: 0 });
    expect(await encodingOf(codec, 300)).toBe('binary/zstd');
    expect(await encodingOf(codec, 10)).toBe('json/plain');
    expect(await encodingOf(codec, 0)).toBe('json/plain');
    const noise = bytesPayload(randomBytes(100_000));
    expect((await codec.encode([noise]))[0]).toBe(noise);
  });

  test.each([undefined, false] as const)('with option %s compresses nothing, but still reads compressed data', async (option) => {
    const [compressed] = await new CompressionCodec(true).encode([text(50_000)]);
    const codec = new CompressionCodec(option);
    expect(await encodingOf(codec, 100_000)).toBe('json/plain');
    expect((await codec.decode([compressed ?? {}])).map(plain)).toEqual([plain(text(50_000))]);
  });

  test('leaves unencoded payloads of an older history unchanged', async () => {
    const old = text(40_000);
    expect((await new CompressionCodec(true).decode([old]))[0]).toBe(old);
  });

  test('refuses a payload that would grow to more than 64 MiB', async () => {
    const bomb = { metadata: { encoding: Buffer.from('binary/zstd') }, data: zstdCompressSync(Buffer.alloc(65 * 1024 * 1024)) };
    expect(bomb.data.length).toBeLessThan(64_000);
    await expect(new CompressionCodec(true).decode([bomb])).rejects.toThrow('grow to more than 67108864 bytes');
  });

  test.each([-1, 1.5, Number.NaN, Infinity])('refuses the threshold %s when the codec is made', (threshold) => {
    expect(() => new CompressionCodec({ threshold })).toThrow(`codec.compression.threshold is "${threshold}"`);
  });
});
