import { utf8Length } from '../content/text.ts';

/** Bytes of JSON that one payload of ours may have: Temporal refuses 2 MiB, and retries the refused for ever. */
export const MAX_PAYLOAD_BYTES = 1_900_000;

/** Bytes of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return utf8Length(JSON.stringify(value) ?? '');
}
