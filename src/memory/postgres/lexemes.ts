import { wordsOf } from '../search/searched-text.ts';

/** Characters of a word that count: PostgreSQL refuses words of over 2,046 bytes. */
const MOST_CHARS = 200;

/** Returns a word as the index has it. */
export function lexeme(word: string): string {
  return word.slice(0, MOST_CHARS).toWellFormed();
}

/** Returns the words of folded texts for the index. */
export function lexemesOf(...folded: readonly string[]): string[] {
  return [...new Set(wordsOf(folded.join(' ')).map(lexeme))];
}
