import { cosineOf, shareOfWords } from '../search/ranking.ts';
import type { CheckedQuery } from '../search/checked-query.ts';
import { type Hit, weakHits } from '../search/hits.ts';
import type { RunStatement } from './postgres-pool.ts';
import type { Tables } from './tables.ts';
import { lexeme } from './lexemes.ts';

/** An entry that fits, by its number: a text, because it may have more bits than a number. */
type NumberedHit = Hit<string>;

/** Returns the entries that fit a query, the best first. */
export async function search(run: RunStatement, tables: Tables, query: CheckedQuery): Promise<NumberedHit[]> {
  const found = await containing(run, tables, query);
  if (found.length >= query.wanted) return found;
  const [words, meanings] = [await wordHits(run, tables, query), await meaningHits(run, tables, query)];
  return [...found, ...weakHits(words, meanings, found)].slice(0, query.wanted);
}

async function containing(run: RunStatement, { entries }: Tables, { namespace, text, wanted }: CheckedQuery): Promise<NumberedHit[]> {
  return run<NumberedHit>(
    `SELECT number::text, (CASE WHEN folded_key = $2 THEN 1 WHEN strpos(folded_key, $2) > 0 THEN 0.7 ELSE 0.4 END)::float8 AS score
     FROM ${entries} WHERE namespace = $1 AND (strpos(folded_key, $2) > 0 OR strpos(folded_value, $2) > 0)
     ORDER BY score DESC, memory_entries.number DESC LIMIT $3::bigint`,
    [namespace, text, Number.isFinite(wanted) ? wanted : null],
  );
}

async function wordHits(run: RunStatement, { entries }: Tables, { namespace, words: asked }: CheckedQuery): Promise<NumberedHit[]> {
  const words = asked.map(lexeme);
  if (words.length === 0) return [];
  // A quoted text is one word to a tsquery, never an operator, and a word has no quotes in it.
  const matches = `words @@ ('''' || word || '''')::tsquery`;
  const counts = await run<{ word: string; having: number; all: number }>(
    `SELECT word, (SELECT count(*)::int FROM ${entries} WHERE namespace = $1 AND ${matches}) AS "having",
       (SELECT count(*)::int FROM ${entries} WHERE namespace = $1) AS "all"
     FROM unnest($2::text[]) AS word`,
    [namespace, words],
  );
  const having = counts.map((count) => count.having);
  const shares = shareOfWords(having, counts[0]?.all ?? 0);
  const useful = counts.flatMap(({ word }, index) =>
    having[index] === 0 || shares[index] === 0 ? [] : [{ word, share: shares[index] ?? 0 }],
  );
  return run<NumberedHit>(
    `SELECT number::text, least(1, sum(share))::float8 AS score
     FROM unnest($2::text[], $3::float8[]) AS asked (word, share) JOIN ${entries} ON namespace = $1 AND ${matches}
     GROUP BY memory_entries.number`,
    [namespace, useful.map(({ word }) => word), useful.map(({ share }) => share)],
  );
}

/** Compares vectors in the database if it can, and otherwise here, which reads all vectors of the namespace. */
async function meaningHits(
  run: RunStatement,
  { entries, hasVectors }: Tables,
  { namespace, vector }: CheckedQuery,
): Promise<NumberedHit[]> {
  if (vector === undefined) return [];
  const which = `FROM ${entries} WHERE namespace = $1 AND array_length(vector, 1) = $2`;
  if (hasVectors) {
    const sql = `SELECT number::text, (1 - (vector::vector <=> $3::real[]::vector))::float8 AS score ${which}`;
    return run<NumberedHit>(sql, [namespace, vector.length, vector]);
  }
  const rows = await run<{ number: string; vector: number[] }>(`SELECT number::text, vector ${which}`, [namespace, vector.length]);
  return rows.map((row) => ({ number: row.number, score: cosineOf(row.vector, vector) }));
}
