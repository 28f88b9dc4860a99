import { shareOfWords } from './ranking.ts';
import { wordsOf } from './searched-text.ts';

/** Returns the share of the words of a query that each folded text has, from 0 to 1, by the weight of the words in these texts. */
export function wordShares(texts: readonly string[], asked: readonly string[]): number[] {
  const had = texts.map((text) => new Set(wordsOf(text)));
  const having = asked.map((word) => had.filter((words) => words.has(word)).length);
  const shares = shareOfWords(having, texts.length);
  return had.map((words) => asked.reduce((sum, word, index) => sum + (words.has(word) ? (shares[index] ?? 0) : 0), 0));
}
