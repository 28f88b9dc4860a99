import { cosineOf, weakScore, wordWeight } from '../ranking.ts';
import { queryWords } from '../searched-text.ts';
import type { RunStatement } from './postgres-pool.ts';
import type { Tables } from './tables.ts';
import { lexeme } from './lexemes.ts';

/** An entry that fits a query: its number and its score. */
export interface Hit {
  number: string;
  score: number;
}

/** A query with a folded text. */
export interface Search {
  namespace: string | undefined;
  query: string;
  vector: readonly number[] | undefined;
  /** The most entries to return; null for all. */
  wanted: number | null;
}

/** Returns the entries that fit a query, the best first. */
export async function search(run: RunStatement, tables: Tables, asked: Search): Promise<Hit[]> {
  const found = await containing(run, tables, asked);
  if (asked.wanted !== null && found.length >= asked.wanted) return found;
  const weak = await weakHits(run, tables, asked, found);
  return [...found, ...weak].slice(0, asked.wanted ?? undefined);
}

/** The condition for the entries of a search; its first value is `$1`. */
function inNamespace({ namespace }: Search): string {
  return namespace === undefined ? '$1::text IS NULL' : 'namespace = $1';
}

async function containing(run: RunStatement, { entries }: Tables, asked: Search): Promise<Hit[]> {
  const { namespace = null, query, wanted } = asked;
  return run<Hit>(
    `SELECT number::text, (CASE WHEN folded_key = $2 THEN 1 WHEN strpos(folded_key, $2) > 0 THEN 0.7 ELSE 0.4 END)::float8 AS score
     FROM ${entries} WHERE ${inNamespace(asked)} AND (strpos(folded_key, $2) > 0 OR strpos(folded_value, $2) > 0)
     ORDER BY score DESC, memory_entries.number DESC LIMIT $3::bigint`,
    [namespace, query, wanted],
  );
}

/** Returns the entries that fit by words or meaning alone, the best first. */
async function weakHits(run: RunStatement, tables: Tables, asked: Search, found: readonly Hit[]): Promise<Hit[]> {
  const parts = new Map<string, { words?: number; cosine?: number }>();
  for (const { number, score } of await wordHits(run, tables, asked)) parts.set(number, { words: score });
  for (const { number, score } of await meaningHits(run, tables, asked)) parts.set(number, { ...parts.get(number), cosine: score });
  for (const { number } of found) parts.delete(number);
  return [...parts]
    .map(([number, part]) => ({ number, score: weakScore(part) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || Number(other.number) - Number(one.number));
}

async function wordHits(run: RunStatement, { entries }: Tables, asked: Search): Promise<Hit[]> {
  const { namespace = null, query } = asked;
  const words = queryWords(query).map(lexeme);
  if (words.length === 0) return [];
  // A quoted text is one word to a tsquery, never an operator, and a word has no quotes in it.
  const matches = `words @@ ('''' || word || '''')::tsquery`;
  const counts = await run<{ word: string; having: number; all: number }>(
    `SELECT word, (SELECT count(*)::int FROM ${entries} WHERE ${inNamespace(asked)} AND ${matches}) AS "having",
       (SELECT count(*)::int FROM ${entries} WHERE ${inNamespace(asked)}) AS "all"
     FROM unnest($2::text[]) AS word`,
    [namespace, words],
  );
  const weights = counts.map(({ having, all }) => wordWeight(having, all));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const had = counts.map(({ word, having }, index) => ({ word, having, share: (weights[index] ?? 0) / (whole || 1) }));
  const useful = had.filter(({ having, share }) => having > 0 && share > 0);
  return run<Hit>(
    `SELECT number::text, least(1, sum(share))::float8 AS score
     FROM unnest($2::text[], $3::float8[]) AS asked (word, share) JOIN ${entries} ON ${inNamespace(asked)} AND ${matches}
     GROUP BY memory_entries.number`,
    [namespace, useful.map(({ word }) => word), useful.map(({ share }) => share)],
  );
}

/** Compares vectors in the database if it can, and otherwise here, which reads all vectors of the namespace. */
async function meaningHits(run: RunStatement, { entries, hasVectors }: Tables, asked: Search): Promise<Hit[]> {
  const { namespace = null, vector } = asked;
  if (vector === undefined) return [];
  const which = `FROM ${entries} WHERE ${inNamespace(asked)} AND array_length(vector, 1) = $2`;
  if (hasVectors) {
    const sql = `SELECT number::text, (1 - (vector::vector <=> $3::real[]::vector))::float8 AS score ${which}`;
    return run<Hit>(sql, [namespace, vector.length, vector]);
  }
  const rows = await run<{ number: string; vector: number[] }>(`SELECT number::text, vector ${which}`, [namespace, vector.length]);
  return rows.map((row) => ({ number: row.number, score: cosineOf(row.vector, vector) }));
}
