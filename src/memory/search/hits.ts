import { weakScore } from './ranking.ts';

/** An entry that a database has found, by its number, which is higher for a newer one; and its score, or a part of it. */
export interface Hit<Id extends number | string> {
  number: Id;
  score: number;
}

/**
 * Returns the entries that fit by words or meaning alone, the best first and of equal ones the newer: from those that have words of the
 * query, with their share of its weight, and those with a vector, with their cosine. Leaves out those that contain the query.
 */
export function weakHits<Id extends number | string>(
  words: Iterable<Hit<Id>>,
  meanings: Iterable<Hit<Id>>,
  containing: readonly Hit<Id>[],
): Hit<Id>[] {
  const parts = new Map<Id, { words?: number; cosine?: number }>();
  for (const { number, score } of words) parts.set(number, { words: score });
  for (const { number, score } of meanings) parts.set(number, { ...parts.get(number), cosine: score });
  for (const { number } of containing) parts.delete(number);
  return [...parts]
    .map(([number, part]) => ({ number, score: weakScore(part) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || Number(other.number) - Number(one.number));
}
