const ENCODER = new TextEncoder();

/** Code units up to which a text is tested for ASCII first. Most texts are short and ASCII, and the test is cheaper than encoding them. */
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
  // A surrogate without its other half is written as an escape.
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return 6;
  return codePoint < 0x10000 ? 3 : 4;
}

/** Backspace, tab, line feed, form feed, carriage return. */
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);

/**
 * Returns a text without the given characters at its end. An expression for it (`/x+$/`) would search again from each of them, which
 * takes time quadratic in a text of others.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Joins the lines of a text, without blanks around them and without empty ones. */
export function joinedLines(text: string, separator: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(separator);
}

/** Cuts a text to `maxLength` characters, without splitting one; three dots follow a text that was cut. */
export function shortened(text: string, maxLength: number): string {
  // A text of so few code units has no more characters.
  if (text.length <= maxLength) return text;
  const characters = Array.from(text);
  return characters.length <= maxLength ? text : `${characters.slice(0, Math.max(0, maxLength)).join('')}...`;
}

/** Returns a count with its noun: `1 tool call`, `2 tool calls`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Shortens a text to one line of at most `maxBytes` bytes of UTF-8; an ellipsis shows that it was cut. */
export function oneLine(text: string, maxBytes: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (utf8Length(line) <= maxBytes) return line;
  return `${utf8Prefix(line, maxBytes - 3)}…`;
}
