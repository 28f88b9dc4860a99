import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';

const message = proto.temporal.api.common.v1.Payload;

/** A payload with its metadata as bytes: what a codec hides inside another payload. */
export function packPayload(payload: Payload): Uint8Array {
  return message.encode(payload).finish();
}

/** The payload that `packPayload` made bytes of. Throws where the bytes are something else. */
export function unpackPayload(bytes: Uint8Array): Payload {
  return message.decode(bytes);
}

/** True where a payload says that its data is so encoded. Most payloads of a run are not: the length alone tells them apart. */
export function isEncodedAs({ metadata }: Payload, encoding: string): boolean {
  const named = metadata?.['encoding'];
  return named?.length === encoding.length && metadataText(named) === encoding;
}

/** Payloads in their order, with what `code` makes of those that need it. Every payload of a run passes here: where none does, it costs nothing. */
export async function codedWhere(
  payloads: Payload[],
  needsIt: (payload: Payload) => boolean,
  code: (payload: Payload) => Promise<Payload>,
): Promise<Payload[]> {
  if (!payloads.some(needsIt)) return payloads;
  return Promise.all(payloads.map((payload) => (needsIt(payload) ? code(payload) : Promise.resolve(payload))));
}

/** A value of a payload's metadata as text. */
export function metadataText(value: Uint8Array | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : Buffer.from(value).toString('utf8');
}
