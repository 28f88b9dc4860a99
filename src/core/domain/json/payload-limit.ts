import { utf8Length } from '../content/text.ts';

/** Bytes of JSON that one payload may have. Temporal refuses a payload of 2 MiB and retries the refused task for ever. */
export const MAX_PAYLOAD_BYTES = 1_900_000;

/** Returns the number of bytes that a value has as JSON. */
export function jsonBytes(value: unknown): number {
  return utf8Length(JSON.stringify(value) ?? '');
}
