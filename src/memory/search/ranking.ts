import type { JsonValue } from '../../core/domain/json.ts';
import { foldedText, foldedValue } from './searched-text.ts';

/** The lowest score of an entry that contains the query: its value does. */
export const CONTAINED_SCORE = 0.4;

/** The highest score of words and meaning: below that of an entry that contains the query. */
const MOST_WEAK = 0.39;

/** Returns 1 if a folded query is the key, 0.7 if the key contains it, 0.4 if the value does; otherwise 0. */
export function textScore({ key, value }: { key: string; value: JsonValue }, query: string): number {
  const name = foldedText(key);
  if (name === query) return 1;
  if (name.includes(query)) return 0.7;
  return foldedValue(value).includes(query) ? CONTAINED_SCORE : 0;
}

/**
 * Returns the score of an entry that does not contain the query, from 0 to 0.39, from two parts of 0 to 1 each: its share of the words
 * of the query, and the cosine between the vectors. Each adds to the other: 1 - (1 - words)(1 - cosine).
 */
export function weakScore({ words = 0, cosine = 0 }: { words?: number; cosine?: number }): number {
  // A cosine of a store that is no number says nothing.
  const near = cosine > 0 ? Math.min(1, cosine) : 0;
  return MOST_WEAK * (1 - (1 - words) * (1 - near));
}

/** In a namespace with this number of entries, a word that over half of them have does not count. */
const MANY_ENTRIES = 100;

/**
 * Returns the share that each word has of the weight of a query, from the number of entries that have it, `having`, of `all`. As in BM25, a
 * word that few have weighs more. A word that over half of many entries have weighs nothing.
 */
export function shareOfWords(having: readonly number[], all: number): number[] {
  const weights = having.map((some) => (all >= MANY_ENTRIES && some > all / 2 ? 0 : Math.log(1 + (all - some + 0.5) / (some + 0.5))));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / (whole || 1));
}

/** Returns the cosine between two vectors; 0 if their lengths differ, as after a change of the model that made them. */
export function cosineOf(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length) return 0;
  let product = 0;
  let ownSquare = 0;
  let otherSquare = 0;
  for (let index = 0; index < one.length; index += 1) {
    const left = one[index] ?? 0;
    const right = other[index] ?? 0;
    product += left * right;
    ownSquare += left * left;
    otherSquare += right * right;
  }
  return product === 0 ? 0 : product / Math.sqrt(ownSquare * otherSquare);
}
