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

/** How a payload says what its data is; undefined where it says nothing. */
export function encodingOf({ metadata }: Payload): string | undefined {
  return metadataText(metadata?.['encoding']);
}

/** A value of a payload's metadata as text. */
export function metadataText(value: Uint8Array | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : Buffer.from(value).toString('utf8');
}
