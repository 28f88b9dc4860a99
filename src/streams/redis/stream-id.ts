/** The position before every entry of a stream. */
export const START = '0-0';

const ID = /^(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/;
const LARGEST = 2n ** 64n - 1n;

/** True for a text that can be the id of an entry: Redis refuses other texts as an error of the caller. */
export function isStreamId(text: string): boolean {
  const [, ms = '', sequence = ''] = ID.exec(text) ?? [];
  return ms !== '' && BigInt(ms) <= LARGEST && BigInt(sequence) <= LARGEST;
}

/** Compares two ids by their order in a stream: negative if the first comes earlier. */
export function compareIds(one: string, other: string): number {
  const [ms = '', sequence = ''] = one.split('-');
  const [otherMs = '', otherSequence = ''] = other.split('-');
  return compareNumbers(ms, otherMs) || compareNumbers(sequence, otherSequence);
}

/** Compares whole numbers without leading zeros, which may be larger than a number can be. */
function compareNumbers(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : Number(one > other);
}
