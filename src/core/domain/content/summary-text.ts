import { oneLine, utf8Length } from './text.ts';

/**
 * Bytes of JSON that a summary may have. The server takes 400 bytes of payload: metadata is part of it, and so is what
 * encryption adds, up to 180 bytes with the longest key id.
 */
const SUMMARY_BYTES = 220;

/** Below this even a text of nothing but control characters fits, each of which takes six bytes of JSON. */
const LEAST_BYTES = 36;

/** The text as one line that fits a summary. Quotes and control characters grow when it becomes JSON, so that form is measured. */
export function summaryText(text: string): string {
  let limit = SUMMARY_BYTES - 2;
  let line = oneLine(text, limit);
  while (utf8Length(JSON.stringify(line)) > SUMMARY_BYTES && limit > LEAST_BYTES) {
    limit = Math.max(LEAST_BYTES, Math.floor(limit * 0.8));
    line = oneLine(text, limit);
  }
  return line;
}
