import { utf8Length, utf8Prefix } from '../domain/content/text.ts';

/** Follows an output that was cut. */
const MARKER = '\n[OUTPUT TRUNCATED]';

/** Cuts a text to `maxBytes` of UTF-8 without splitting a character, and marks the cut. */
export function truncateOutput(text: string, maxBytes: number): { text: string; truncated: boolean } {
  if (utf8Length(text) <= maxBytes) return { text, truncated: false };
  return { text: utf8Prefix(text, maxBytes) + MARKER, truncated: true };
}
