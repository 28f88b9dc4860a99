import { utf8Prefix } from '../content/text.ts';

/** The only key of an `Unreadable`. */
const KEY = 'longhaul:unreadable';

/**
 * The prefix of the encoding of a payload that a codec could not decode; the reason follows it. The reason is part of the
 * encoding so that a converter that does not know the prefix repeats the reason in its error.
 */
export const UNREADABLE_ENCODING = 'unreadable: ';

/** Replaces a value whose payload could not be read, and holds the reason. Plain JSON that fits no schema of a run. */
export interface Unreadable {
  [KEY]: string;
}

/** Bytes of the name of an encoding that a reason repeats: the name may be as long as a payload. */
const ENCODING_BYTES = 100;

/** The part of a payload that names its encoding. */
interface EncodedPayload {
  metadata?: Record<string, Uint8Array> | null;
}

/** Makes the replacement of a value that could not be read. */
export function unreadable(reason: string): Unreadable {
  return { [KEY]: reason };
}

/** Returns why a value could not be read; undefined for one that was read. */
export function whyUnreadable(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !(KEY in value)) return undefined;
  const reason: unknown = value[KEY];
  return typeof reason === 'string' ? reason : 'no reason is given';
}

/** Reads a payload with `read`; returns an `Unreadable` if that throws. */
export function readOrMark(payload: EncodedPayload, read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return unreadable(reasonOf(payload));
  }
}

/** Words the reason itself: messages of a JSON parser differ between releases of Node, and a replay must produce the same text. */
function reasonOf({ metadata }: EncodedPayload): string {
  const encoded = metadata?.['encoding'];
  if (encoded === undefined) return 'the payload does not name its encoding';
  const encoding = new TextDecoder().decode(encoded);
  if (encoding.startsWith(UNREADABLE_ENCODING)) return encoding.slice(UNREADABLE_ENCODING.length);
  return encoding === 'json/plain'
    ? 'the data of the payload is not JSON'
    : `the encoding "${utf8Prefix(encoding, ENCODING_BYTES)}" of the payload is unknown`;
}
