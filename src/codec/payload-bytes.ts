import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';

const message = proto.temporal.api.common.v1.Payload;

/** Returns a payload with its metadata as bytes, which a codec puts inside another payload. */
export function packPayload(payload: Payload): Uint8Array {
  return message.encode(payload).finish();
}

/** Returns the payload that `packPayload` turned into bytes. Throws for other bytes. */
export function unpackPayload(bytes: Uint8Array): Payload {
  return message.decode(bytes);
}

/** True if a payload has this encoding. Most payloads of a run do not, and the length alone shows that. */
export function isEncodedAs({ metadata }: Payload, encoding: string): boolean {
  const named = metadata?.['encoding'];
  return named?.length === encoding.length && metadataText(named) === encoding;
}

/**
 * Returns the payloads in order, with those that match transformed. Every payload of a run passes through here; if
 * none matches, this costs almost nothing.
 */
export async function transformMatching(
  payloads: Payload[],
  needsIt: (payload: Payload) => boolean,
  code: (payload: Payload) => Promise<Payload>,
): Promise<Payload[]> {
  if (!payloads.some(needsIt)) return payloads;
  return Promise.all(payloads.map((payload) => (needsIt(payload) ? code(payload) : Promise.resolve(payload))));
}

/** Returns a value of a payload's metadata as text. */
export function metadataText(value: Uint8Array | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : Buffer.from(value).toString('utf8');
}
