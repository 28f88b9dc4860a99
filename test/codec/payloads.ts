import type { Payload } from '@temporalio/common';
import fc from 'fast-check';

/** A payload of JSON, as the default converter makes it. */
export function jsonPayload(value: unknown): Payload {
  return bytesPayload(Buffer.from(JSON.stringify(value)));
}

/** A payload with these bytes as its data. */
export function bytesPayload(data: Uint8Array): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data };
}

/** A form that makes two payloads comparable. */
export function plain(payload: Payload | undefined): unknown {
  const metadata = Object.entries(payload?.metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return { metadata: Object.fromEntries(metadata), data: Buffer.from(payload?.data ?? []).toString('base64') };
}

/** A piece of metadata as text. */
export function metadataOf(payload: Payload | undefined, name: string): string {
  return Buffer.from(payload?.metadata?.[name] ?? []).toString();
}

/** Any payload: with metadata of any name, and data that may be empty. */
export const anyPayload: fc.Arbitrary<Payload> = fc.record({
  metadata: fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.uint8Array({ maxLength: 40 })),
  data: fc.oneof(
    fc.uint8Array({ maxLength: 5_000 }),
    fc.string({ maxLength: 5_000, unit: fc.constantFrom('a', 'b', 'ü') }).map((text) => Uint8Array.from(Buffer.from(text))),
  ),
});

/** A key of 32 bytes that are all the same. */
export function key(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte);
}
