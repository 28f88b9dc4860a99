import type { Payload } from '@temporalio/common';

/** The metadata as it is in the file: the bytes of each value in base64. */
type Metadata = Record<string, string>;

/**
 * A payload as a file: its metadata as JSON in the first line, then its data as it is, so that content without a codec
 * can be read with any tool. Equal payloads give equal files.
 */
export function payloadFile(payload: Payload): Uint8Array {
  const entries = Object.entries(payload.metadata ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const metadata: Metadata = Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return Buffer.concat([Buffer.from(`${JSON.stringify(metadata)}\n`), payload.data ?? new Uint8Array()]);
}

/** The payload that a file holds. Throws a SyntaxError for what `payloadFile` did not make. */
export function payloadOf(file: Buffer): Payload {
  const end = file.indexOf('\n');
  const metadata = JSON.parse(file.subarray(0, Math.max(0, end)).toString()) as Metadata;
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value, 'base64')])),
    data: file.subarray(end + 1),
  };
}
