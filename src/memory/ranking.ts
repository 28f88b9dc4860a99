import type { JsonValue } from '../core/domain/json/json.ts';
import { foldedText, foldedValue } from './searched-text.ts';

/** The number of entries that a query returns if it does not say. */
const DEFAULT_TOP_K = 5;

/** The lowest score of an entry that contains the query: its value does. */
export const CONTAINED_SCORE = 0.4;

/** The highest score of words and meaning: below that of an entry that contains the query. */
const MOST_WEAK = 0.39;

/** Returns the number of entries that a query asks for: 5 if it does not say, Infinity for all. */
export function wantedEntries(topK: number = DEFAULT_TOP_K): number {
  return Number.isNaN(topK) ? 0 : Math.max(0, Math.floor(topK));
}

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
  return MOST_WEAK * (1 - (1 - words) * (1 - Math.min(1, Math.max(0, cosine))));
}

/** In a namespace with this number of entries, a word that over half of them have does not count. */
const MANY_ENTRIES = 100;

/**
 * Returns the weight of a word that `having` of `all` entries have, as in BM25: a word that few have weighs more. A word that over half
 * of many entries have weighs nothing.
 */
export function wordWeight(having: number, all: number): number {
  if (all >= MANY_ENTRIES && having > all / 2) return 0;
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
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
