import { utf8Prefix } from '../content/text.ts';

/** The one key of what stands in the place of a value that could not be read. */
const KEY = 'longhaul:unreadable';

/**
 * How a payload names its encoding that a codec could not decode; the reason follows. It is part of the encoding so that
 * a converter which knows nothing of it repeats the reason in its error.
 */
export const UNREADABLE_ENCODING = 'unreadable: ';

/** Stands in the place of a value whose payload could not be read, and says why. Plain JSON, which fits no schema of a run. */
export interface Unreadable {
  [KEY]: string;
}

/** The name of an encoding may be as long as a payload. */
const ENCODING_BYTES = 100;

/** A payload, as far as reading it goes. */
interface GivenPayload {
  metadata?: Record<string, Uint8Array> | null;
}

/** The value in the place of one that could not be read. */
export function unreadable(why: string): Unreadable {
  return { [KEY]: why };
}

/** Why a value could not be read; undefined for one that was read. */
export function whyUnreadable(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !(KEY in value)) return undefined;
  const why: unknown = value[KEY];
  return typeof why === 'string' ? why : 'no reason is given';
}

/** Reads a payload with `read`; gives an `Unreadable` where that throws. */
export function readOrMark(payload: GivenPayload, read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return unreadable(reasonOf(payload));
  }
}

/** In words of its own: those of a JSON parser differ between releases of Node, and a replay must come to the same. */
function reasonOf({ metadata }: GivenPayload): string {
  const named = metadata?.['encoding'];
  if (named === undefined) return 'the payload does not name its encoding';
  const encoding = new TextDecoder().decode(named);
  if (encoding.startsWith(UNREADABLE_ENCODING)) return encoding.slice(UNREADABLE_ENCODING.length);
  return encoding === 'json/plain'
    ? 'the data of the payload is not JSON'
    : `the encoding "${utf8Prefix(encoding, ENCODING_BYTES)}" of the payload is unknown`;
}
