/** Number of bytes of `text` in UTF-8. Works in the workflow sandbox, which has no Buffer. */
export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The longest prefix of `text` that fits `maxBytes` of UTF-8 without splitting a character. */
export function utf8Prefix(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = Math.max(0, maxBytes);
  // A continuation byte (10xxxxxx) at the cut means that the cut is inside a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

/** One line of at most `maxBytes` bytes of UTF-8; what was cut shows as an ellipsis. */
export function oneLine(text: string, maxBytes: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (utf8Length(line) <= maxBytes) return line;
  return `${utf8Prefix(line, maxBytes - 3)}…`;
}
