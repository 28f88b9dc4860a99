const ENCODER = new TextEncoder();

/**
 * The maximum code units of a text that is first tested for ASCII. Most texts are short and ASCII, and the test is cheaper than encoding.
 */
const SHORT = 2_048;
// oxlint-disable-next-line no-control-regex -- ASCII begins with them.
const ASCII = /^[\x00-\x7f]*$/;

/** Returns the number of bytes of `text` in UTF-8. Works in the workflow sandbox, which has no Buffer. */
export function utf8Length(text: string): number {
  return text.length <= SHORT && ASCII.test(text) ? text.length : ENCODER.encode(text).length;
}

/** Returns the longest prefix of `text` that fits `maxBytes` of UTF-8 without splitting a character. */
export function utf8Prefix(text: string, maxBytes: number): string {
  const bytes = ENCODER.encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = Math.max(0, maxBytes);
  // A continuation byte (10xxxxxx) at the cut means that the cut is inside a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

/** Returns the longest prefix of `text` whose JSON, without the quotes around it, fits `maxBytes`, without splitting a character. */
export function jsonTextPrefix(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += jsonCharacterBytes(character.codePointAt(0) ?? 0);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Returns the number of bytes that `JSON.stringify` writes for a character: escapes are longer than the characters themselves. */
function jsonCharacterBytes(codePoint: number): number {
  if (codePoint === 0x22 || codePoint === 0x5c) return 2;
  if (codePoint < 0x20) return SHORT_ESCAPES.has(codePoint) ? 2 : 6;
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  // An unpaired surrogate is written as an escape.
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return 6;
  return codePoint < 0x10000 ? 3 : 4;
}

/** Backspace, tab, line feed, form feed, carriage return. */
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);

/**
 * Removes the given characters from the end of a text. A regular expression (`/x+$/`) would search again from each of them, which takes
 * quadratic time in a text with many of them.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Joins the trimmed, non-empty lines of a text. */
export function joinedLines(text: string, separator: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(separator);
}

/** Cuts a text to `maxLength` characters without splitting one; three dots follow a cut text. */
export function shortened(text: string, maxLength: number): string {
  // A text with so few code units cannot have more characters.
  if (text.length <= maxLength) return text;
  const characters = Array.from(text);
  return characters.length <= maxLength ? text : `${characters.slice(0, Math.max(0, maxLength)).join('')}...`;
}

/** Returns a count with its noun: `1 tool call`, `2 tool calls`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Shortens a text to one line of at most `maxBytes` UTF-8 bytes; an ellipsis marks a cut. */
export function oneLine(text: string, maxBytes: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (utf8Length(line) <= maxBytes) return line;
  return `${utf8Prefix(line, maxBytes - 3)}…`;
}

/**
 * Replaces the control characters in a text from a model, a tool or a user that could move the cursor, change the terminal's title, hide
 * the following text, or show it in another order than it has (embeddings, overrides and isolates of bidirectional text). Tabs and line
 * breaks stay.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the expression matches control characters
  return text.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** Does the same and joins all lines into one, so that no line of the text can be mistaken for a line of the program. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/**
 * The maximum bytes of JSON of a summary. The server accepts a payload of 400 bytes, including metadata and up to 180 bytes that encryption
 * adds with the longest key id.
 */
const SUMMARY_BYTES = 220;

/** Bytes of text that fit even if every character is a control character, which takes six bytes of JSON. */
const LEAST_BYTES = 36;

/** Shortens a text to one line that fits a summary. Measures its JSON, because quotes and control characters take more bytes there. */
export function summaryText(text: string): string {
  let limit = SUMMARY_BYTES - 2;
  let line = oneLine(text, limit);
  while (utf8Length(JSON.stringify(line)) > SUMMARY_BYTES && limit > LEAST_BYTES) {
    limit = Math.max(LEAST_BYTES, Math.floor(limit * 0.8));
    line = oneLine(text, limit);
  }
  return line;
}

/** Characters without a special meaning in a shell. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** A command that works for global and project installations. */
export const ANYWHERE = 'npx longhaul';

/**
 * Returns a command line call to copy into a shell. Quotes shell metacharacters, because run ids come from callers and call ids from
 * models.
 */
export function shellCommand(
  command: string,
  {
    options = [],
    operands,
    program = ANYWHERE,
  }: { options?: readonly string[]; operands: readonly string[]; program?: string | undefined },
): string {
  const words = operands.some((word) => word.startsWith('-')) ? [...options, '--', ...operands] : [...operands, ...options];
  return [program, command, ...words.map(shellQuoted)].join(' ');
}

/** Quotes a word for a shell. */
export function shellQuoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns a value for an error: a text in quotes, so that "3" is not taken for 3. */
export function shownValue(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The maximum number of single-character changes between a misspelt name and the right one; also at most half of its length. */
const MOST_CHANGES = 3;

/** Returns `. Did you mean "timeout"?` if one of the names is similar to the written one, otherwise an empty text. */
export function didYouMean(written: unknown, names: readonly string[]): string {
  const name = typeof written === 'string' ? (nearestName(written, names) ?? withoutUnit(written, names)) : undefined;
  return name === undefined ? '' : `. Did you mean "${name}"?`;
}

/**
 * Describes the first field of an object that is not in the table; undefined if there is none. For what functions of users return: the
 * compiler reports no unknown field of these, and ignoring a misspelt one could, for example, widen the rights of a caller.
 */
export function unknownField(given: object, known: Readonly<Record<string, unknown>>): string | undefined {
  const names = Object.keys(known);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  return `unknown field ${shownValue(unknown)} (known: ${names.join(', ')})${didYouMean(unknown, names)}`;
}

/**
 * Finds the option meant by a name with a unit, because option names have none: `heartbeatMs` means an option that begins with `heartbeat`.
 */
function withoutUnit(written: string, names: readonly string[]): string | undefined {
  const [, stem] = /^(.{4,})(?:Ms|Millis|Seconds)$/.exec(written) ?? [];
  return stem === undefined ? undefined : names.find((name) => name.startsWith(stem));
}

/** Returns the name with the fewest changes from the written one, ignoring case, or undefined if none is close. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const text = written.toLowerCase().slice(0, 100);
  const most = Math.min(MOST_CHANGES, Math.floor(text.length / 2));
  const distances = names.map((name) => ({ name, changes: changesBetween(text, name.toLowerCase()) }));
  return distances.filter(({ changes }) => changes <= most).toSorted((one, other) => one.changes - other.changes)[0]?.name;
}

/** Counts the characters that must be inserted, removed, changed, or swapped with the next one. */
function changesBetween(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const ways = [distanceAt(last, j) + 1, distanceAt(row, j - 1) + 1, distanceAt(last, j - 1) + (isSame ? 0 : 1)];
      row.push(Math.min(...ways, isSwapped ? distanceAt(before, j - 2) + 1 : Infinity));
    }
    before = last;
    last = row;
  }
  return distanceAt(last, to.length);
}

function distanceAt(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}

/** The factors of the two halves of a fingerprint: primes, as in FNV. */
const FACTORS = [0x01000193, 0x5bd1e995] as const;

/** The hexadecimal digits of a fingerprint: as many as a UUID has after its last hyphen. */
export const FINGERPRINT_DIGITS = 12;

/** Returns 48 bits of a text in hexadecimal digits. Protects against chance collisions, not against deliberate ones. */
export function fingerprint(text: string): string {
  let [high, low] = [0x811c9dc5, 0x9e3779b9];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, FACTORS[0]);
    low = Math.imul(low ^ code, FACTORS[1]);
    low ^= low >>> 15;
  }
  high ^= high >>> 16;
  return ((high >>> 0) % 0x10000).toString(16).padStart(4, '0') + (low >>> 0).toString(16).padStart(8, '0');
}
