import { oneLine, utf8Length } from './text.ts';

/**
 * Bytes of JSON that a summary may have. The server accepts a payload of 400 bytes, including metadata and up to 180 bytes that
 * encryption adds with the longest key id.
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
