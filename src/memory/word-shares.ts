import { wordWeight } from './ranking.ts';
import { wordsOf } from './searched-text.ts';

/** Returns the share of the words of a query that each folded text has, from 0 to 1, by the weight of the words in these texts. */
export function wordShares(texts: readonly string[], asked: readonly string[]): number[] {
  const had = texts.map((text) => new Set(wordsOf(text)));
  const weights = asked.map((word) => wordWeight(had.filter((words) => words.has(word)).length, texts.length));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return had.map((words) => asked.reduce((sum, word, index) => sum + (words.has(word) ? (weights[index] ?? 0) / (whole || 1) : 0), 0));
}
