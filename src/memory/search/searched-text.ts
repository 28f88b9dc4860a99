import type { JsonValue } from '../../core/domain/json.ts';

/** The most different words of a query that count: more would make a long message slow to look up, and find nothing else. */
const MOST_WORDS = 50;

/**
 * Returns a text as it is compared: composed (NFC) and in lower case by the rules of Unicode that hold for every language. All stores
 * compare texts that were folded here, and not by the rules of their database.
 */
export function foldedText(text: string): string {
  return text.toWellFormed().replaceAll('\0', ' ').normalize('NFC').toLowerCase();
}

/** Returns the text of a value as it is compared: a text itself, everything else as JSON. */
export function foldedValue(value: JsonValue): string {
  return foldedText(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Returns the different words of a folded text, in their order. */
export function wordsOf(folded: string): string[] {
  return [...new Set(folded.match(/[\p{L}\p{N}\p{M}]+/gu))];
}

/** Returns the different words of a folded query that count: the first 50. */
export function queryWords(folded: string): string[] {
  return wordsOf(folded).slice(0, MOST_WORDS);
}
