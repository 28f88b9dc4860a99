import { cosineOf, shareOfWords } from '../search/ranking.ts';
import { type Hit, weakHits } from '../search/hits.ts';
import type { CheckedQuery } from '../search/checked-query.ts';
import type { FoundEntry } from '../memory-store.ts';
import { ENTRY_COLUMNS, entryOf, type EntryRow } from '../stored-row.ts';
import { wordShares } from '../search/word-shares.ts';
import type { Database } from './database.ts';
import { namespaceId } from './namespace-id.ts';
import { NUMBER_BITS } from './tables.ts';

/** The largest number of rows that a statement is asked for. */
const ALL_ROWS = 2 ** 31;

/** An entry that fits, by its number in its namespace. */
type NumberedHit = Hit<number>;

/** The number of an entry, and the condition for those of one namespace, whose id is given twice. */
const NUMBER = `id & ((1 << ${NUMBER_BITS}) - 1) AS number`;
const IN_SPACE = `BETWEEN (? << ${NUMBER_BITS}) AND ((? + 1) << ${NUMBER_BITS}) - 1`;

/** Returns the entries that fit a query, the best first. Belongs in a transaction. */
export function search(database: Database, { namespace, text, words, vector, ...query }: CheckedQuery): FoundEntry[] {
  const wanted = Math.min(query.wanted, ALL_ROWS);
  const space = namespaceId(database, namespace);
  if (wanted === 0 || space === undefined) return [];
  const hits = containing(database, { space, text, limit: wanted });
  if (hits.length < wanted) {
    // Without vectors, the best by their words are the best.
    const limit = vector === undefined ? Math.min(wanted + hits.length, ALL_ROWS) : ALL_ROWS;
    const meanings = vector === undefined ? [] : meaningHits(database, space, vector);
    hits.push(...weakHits(wordHits(database, { space, words, limit }), meanings, hits));
  }
  return hits.slice(0, wanted).flatMap(({ number, score }) => {
    const rows = database.all<EntryRow>(`SELECT ${ENTRY_COLUMNS} FROM entries WHERE id = (? << ${NUMBER_BITS}) + ?`, space, number);
    return rows.map((row) => ({ ...entryOf(row), score }));
  });
}

/** Returns the entries whose key or value contains the text, the best first. */
function containing(database: Database, { space, text, limit }: { space: number; text: string; limit: number }): NumberedHit[] {
  return database.all<NumberedHit>(
    `SELECT ${NUMBER}, CASE WHEN folded_key = ? THEN 1.0 WHEN instr(folded_key, ?) THEN 0.7 ELSE 0.4 END AS score
     FROM entries WHERE id ${IN_SPACE} AND (instr(folded_key, ?) OR instr(folded_value, ?))
     ORDER BY score DESC, number DESC LIMIT ?`,
    text,
    text,
    space,
    space,
    text,
    text,
    limit,
  );
}

/** The words of a query, and the namespace in which they are searched. */
interface WordQuery {
  space: number;
  words: readonly string[];
  limit: number;
}

/** Returns the entries that have words of the query, with their share of its weight, the best first. */
function wordHits(database: Database, query: WordQuery): NumberedHit[] {
  if (query.words.length === 0) return [];
  return database.isIndexed ? indexedHits(database, query) : plainHits(database, query);
}

/** Asks the index for one word at a time, in the namespace: its own ranking counts the entries of all namespaces. */
function indexedHits(database: Database, { space, words, limit }: WordQuery): NumberedHit[] {
  const rows = `SELECT rowid AS id, ? AS share FROM words WHERE words MATCH ? AND rowid ${IN_SPACE}`;
  // A quoted text is words to FTS5, never an operator, and a word has no quotes in it.
  const terms = words.map((word) => `"${word}"`);
  const having = terms.map((term) => countOf(database, `(${rows})`, 0, term, space, space));
  const shares = shareOfWords(having, countOf(database, 'entries WHERE namespace = ?', space));
  const had = terms
    .map((term, index) => ({ term, share: having[index] === 0 ? 0 : (shares[index] ?? 0) }))
    .filter(({ share }) => share > 0);
  if (had.length === 0) return [];
  return database.all<NumberedHit>(
    `SELECT ${NUMBER}, min(1.0, sum(share)) AS score FROM (${had.map(() => rows).join(' UNION ALL ')})
     GROUP BY id ORDER BY score DESC, number DESC LIMIT ?`,
    ...had.flatMap(({ term, share }) => [share, term, space, space]),
    limit,
  );
}

/** Reads all entries of the namespace. */
function plainHits(database: Database, { space, words }: WordQuery): NumberedHit[] {
  const sql = `SELECT ${NUMBER}, folded_key || ' ' || folded_value AS text FROM entries WHERE id ${IN_SPACE}`;
  const rows = database.all<{ number: number; text: string }>(sql, space, space);
  const texts = rows.map(({ text }) => text);
  const shares = wordShares(texts, words);
  return rows.map(({ number }, index) => ({ number, score: shares[index] ?? 0 }));
}

function countOf(database: Database, from: string, ...values: (string | number)[]): number {
  return database.all<{ count: number }>(`SELECT count(*) AS count FROM ${from}`, ...values)[0]?.count ?? 0;
}

/** Returns the entries with a vector of the same length, with their cosine. Reads all vectors of the namespace. */
function* meaningHits(database: Database, space: number, vector: readonly number[]): Iterable<NumberedHit> {
  const asked = Float32Array.from(vector);
  const sql = `SELECT ${NUMBER}, vector FROM vectors WHERE id ${IN_SPACE} AND length(vector) = ?`;
  for (const row of database.each<{ number: number; vector: Uint8Array }>(sql, space, space, asked.byteLength)) {
    // A copy: the numbers must begin at a multiple of four bytes.
    yield { number: row.number, score: cosineOf(new Float32Array(row.vector.slice().buffer), asked) };
  }
}
