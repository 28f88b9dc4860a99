import { cutText, jsonBytes } from '../core/domain/byte-budgets.ts';
import { utf8Length } from '../core/domain/text.ts';
import type { JsonValue } from '../core/domain/json.ts';
import { RECALL_FRAME } from '../core/domain/memory.ts';
import type { MemoryEntry } from './memory-store.ts';
import { isoTime } from '../core/domain/time.ts';

/** An entry as the model reads it. */
export type ShownEntry = {
  key: string;
  value: JsonValue;
  /** The time at which it was stored, in ISO 8601. */
  when: string;
};

/** Returns an entry as the model reads it. */
export function shownEntry({ key, value, timestamp }: Pick<MemoryEntry, 'key' | 'value' | 'timestamp'>): ShownEntry {
  return { key, value, when: isoTime(Math.round(timestamp * 1_000)) };
}

/** Bytes below which the rest of a text is too short to show the beginning of an entry. */
const LEAST_BYTES = 200;

/**
 * Returns the text that gives entries to a model, the best first, and their number: one line of JSON each below a line that says what
 * they are, so that no value can end its line or pass for another. As many as fit `maxBytes` of UTF-8; the value of the first that does
 * not is cut, if its beginning is worth it. An empty text without entries.
 */
export function recallText(entries: readonly ShownEntry[], maxBytes: number): { text: string; entries: number } {
  const lines = [RECALL_FRAME];
  let left = maxBytes - utf8Length(RECALL_FRAME);
  for (const entry of entries) {
    const whole = JSON.stringify(entry);
    const line = utf8Length(whole) < left ? whole : beginningOf(entry, left - 1);
    if (line === undefined) break;
    lines.push(line);
    left -= utf8Length(line) + 1;
  }
  return lines.length === 1 ? { text: '', entries: 0 } : { text: lines.join('\n'), entries: lines.length - 1 };
}

/** Returns an entry whose value is cut to fit, as one line; undefined if too little of the value would be left. */
function beginningOf(entry: ShownEntry, maxBytes: number): string | undefined {
  const text = typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value);
  const room = maxBytes - jsonBytes({ ...entry, value: '' }) + '""'.length;
  return room < LEAST_BYTES ? undefined : JSON.stringify({ ...entry, value: cutText(text, room) });
}
