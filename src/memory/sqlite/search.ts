import type { FoundEntry, RecallQuery } from '../memory-store.ts';
import { cosineOf, wantedEntries, weakScore, wordWeight } from '../ranking.ts';
import { foldedText, queryWords } from '../searched-text.ts';
import { ENTRY_COLUMNS, entryOf, type EntryRow } from '../stored-row.ts';
import { wordShares } from '../word-shares.ts';
import type { Database } from './database.ts';
import { namespaceId } from './namespace-id.ts';
import { NUMBER_BITS } from './tables.ts';

/** The largest number of rows that a statement is asked for. */
const ALL_ROWS = 2 ** 31;

/** The ids of the namespaces that are searched. */
interface Range {
  from: number;
  to: number;
}

/** An entry that fits: the id of its namespace, its number, and its score. */
interface Hit {
  space: number;
  number: number;
  score: number;
}

const HIT = `id >> ${NUMBER_BITS} AS space, id & ((1 << ${NUMBER_BITS}) - 1) AS number`;
const IN_RANGE = `BETWEEN (? << ${NUMBER_BITS}) AND ((? + 1) << ${NUMBER_BITS}) - 1`;

/** Returns the entries that fit a query, the best first. Belongs in a transaction. */
export function search(database: Database, { namespace, text, topK, vector }: RecallQuery): FoundEntry[] {
  const wanted = Math.min(wantedEntries(topK), ALL_ROWS);
  const range = rangeOf(database, namespace);
  if (wanted === 0 || range === undefined) return [];
  const query = foldedText(text);
  const hits = containing(database, range, query, wanted);
  if (hits.length < wanted) hits.push(...weakHits(database, range, { query, vector, wanted, found: hits }));
  return hits.slice(0, wanted).flatMap(({ space, number, score }) => {
    const rows = database.all<EntryRow>(`SELECT ${ENTRY_COLUMNS} FROM entries WHERE id = (? << ${NUMBER_BITS}) + ?`, space, number);
    return rows.map((row) => ({ ...entryOf(row), score }));
  });
}

function rangeOf(database: Database, namespace: string | undefined): Range | undefined {
  if (namespace === undefined) return { from: 0, to: 2 ** (63 - NUMBER_BITS) - 2 };
  const id = namespaceId(database, namespace);
  return id === undefined ? undefined : { from: id, to: id };
}

/** Returns the entries whose key or value contains the query, the best first. */
function containing(database: Database, { from, to }: Range, query: string, limit: number): Hit[] {
  return database.all<Hit>(
    `SELECT ${HIT}, CASE WHEN folded_key = ? THEN 1.0 WHEN instr(folded_key, ?) THEN 0.7 ELSE 0.4 END AS score
     FROM entries WHERE id ${IN_RANGE} AND (instr(folded_key, ?) OR instr(folded_value, ?))
     ORDER BY score DESC, number DESC LIMIT ?`,
    query,
    query,
    from,
    to,
    query,
    query,
    limit,
  );
}

interface WeakQuery {
  query: string;
  vector: readonly number[] | undefined;
  wanted: number;
  /** The entries that contain the query. */
  found: readonly Hit[];
}

/** Returns the entries that fit by words or meaning alone, the best first. */
function weakHits(database: Database, range: Range, { query, vector, wanted, found }: WeakQuery): Hit[] {
  const parts = new Map<number, { space: number; words?: number; cosine?: number }>();
  // Without vectors, the best by their words are the best.
  const limit = vector === undefined ? Math.min(wanted + found.length, ALL_ROWS) : ALL_ROWS;
  for (const { space, number, score } of wordHits(database, range, queryWords(query), limit)) parts.set(number, { space, words: score });
  if (vector !== undefined) {
    for (const { space, number, score } of meaningHits(database, range, vector))
      parts.set(number, { ...parts.get(number), space, cosine: score });
  }
  for (const { number } of found) parts.delete(number);
  return [...parts]
    .map(([number, { space, ...part }]) => ({ space, number, score: weakScore(part) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || other.number - one.number);
}

/** Returns the entries that have words of the query, with their share of its weight, the best first. */
function wordHits(database: Database, range: Range, asked: readonly string[], limit: number): Hit[] {
  if (asked.length === 0) return [];
  return database.isIndexed ? indexedHits(database, range, asked, limit) : plainHits(database, range, asked);
}

/** Asks the index for one word at a time, in the range: its own ranking counts the entries of all namespaces. */
function indexedHits(database: Database, range: Range, asked: readonly string[], limit: number): Hit[] {
  const { from, to } = range;
  const rows = `SELECT rowid AS id, ? AS weight FROM words WHERE words MATCH ? AND rowid ${IN_RANGE}`;
  const all = entriesIn(database, range);
  const words = asked.map((word) => {
    // A quoted text is words to FTS5, never an operator, and a word has no quotes in it.
    const term = `"${word}"`;
    const [row] = database.all<{ entries: number }>(`SELECT count(*) AS entries FROM (${rows})`, 0, term, from, to);
    const entries = row?.entries ?? 0;
    return { term, entries, weight: wordWeight(entries, all) };
  });
  const whole = words.reduce((sum, { weight }) => sum + weight, 0);
  const had = words.filter(({ entries, weight }) => entries > 0 && weight > 0);
  if (had.length === 0) return [];
  return database.all<Hit>(
    `SELECT ${HIT}, min(1.0, sum(weight)) AS score FROM (${had.map(() => rows).join(' UNION ALL ')})
     GROUP BY id ORDER BY score DESC, number DESC LIMIT ?`,
    ...had.flatMap(({ term, weight }) => [weight / whole, term, from, to]),
    limit,
  );
}

/** Reads all entries of the range. */
function plainHits(database: Database, { from, to }: Range, asked: readonly string[]): Hit[] {
  const sql = `SELECT ${HIT}, folded_key || ' ' || folded_value AS text FROM entries WHERE id ${IN_RANGE}`;
  const rows = database.all<Hit & { text: string }>(sql, from, to);
  const texts = rows.map(({ text }) => text);
  const shares = wordShares(texts, asked);
  return rows.map(({ space, number }, index) => ({ space, number, score: shares[index] ?? 0 }));
}

function entriesIn(database: Database, { from, to }: Range): number {
  const sql = 'SELECT count(*) AS entries FROM entries WHERE namespace BETWEEN ? AND ?';
  return database.all<{ entries: number }>(sql, from, to)[0]?.entries ?? 0;
}

/** Returns the entries with a vector of the same length, with their cosine. Reads all vectors of the namespace. */
function* meaningHits(database: Database, { from, to }: Range, vector: readonly number[]): Iterable<Hit> {
  const asked = Float32Array.from(vector);
  const sql = `SELECT ${HIT}, vector FROM vectors WHERE id ${IN_RANGE} AND length(vector) = ?`;
  for (const row of database.each<Hit & { vector: Uint8Array }>(sql, from, to, asked.byteLength)) {
    // A copy: the numbers must begin at a multiple of four bytes.
    yield { ...row, score: cosineOf(new Float32Array(row.vector.slice().buffer), asked) };
  }
}
