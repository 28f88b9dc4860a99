import { requireNamespace } from '../entry-bounds.ts';
import type { RecallQuery } from '../memory-store.ts';
import { foldedText, queryWords } from './searched-text.ts';
import { directionOf } from './vector.ts';

/** The number of entries that a query returns if it does not say. */
const DEFAULT_TOP_K = 5;

/** A query that is in bounds, in the form in which stores search. */
export interface CheckedQuery {
  namespace: string;
  /** The folded text. */
  text: string;
  /** The different words of the text that count. */
  words: string[];
  /** The vector, of length 1; undefined without one, and for one without a length. */
  vector: number[] | undefined;
  /** The most entries to return: Infinity for all. */
  wanted: number;
}

/** Returns a query as stores search for it. Throws a UsageError for a query without a namespace, and for a vector out of bounds. */
export function checkedQuery({ namespace, text, topK = DEFAULT_TOP_K, vector }: RecallQuery): CheckedQuery {
  requireNamespace(namespace);
  const folded = foldedText(text);
  return {
    namespace,
    text: folded,
    words: queryWords(folded),
    vector: vector === undefined ? undefined : directionOf('The vector of the query', vector),
    wanted: Number.isNaN(topK) ? 0 : Math.max(0, Math.floor(topK)),
  };
}
