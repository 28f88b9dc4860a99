import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import type { JsonValue } from '../core/domain/json.ts';
import type { MemoryStore } from './memory-store.ts';

/** The lowest score of an entry that contains the query: in its value. */
export const CONTAINED_SCORE = 0.4;

/** The highest score of words and meaning: lower than for an entry that contains the query. */
const MOST_WEAK = 0.39;

/** Returns 1 if a folded query is the key, 0.7 if the key contains it, 0.4 if the value does; otherwise 0. */
export function textScore({ key, value }: { key: string; value: JsonValue }, query: string): number {
  const name = foldedText(key);
  if (name === query) return 1;
  if (name.includes(query)) return 0.7;
  return foldedValue(value).includes(query) ? CONTAINED_SCORE : 0;
}

/**
 * Returns the score of an entry that does not contain the query, from 0 to 0.39, from two parts between 0 and 1: its share of the words
 * of the query, and the cosine between the vectors. They are combined as 1 - (1 - words)(1 - cosine).
 */
export function weakScore({ words = 0, cosine = 0 }: { words?: number; cosine?: number }): number {
  // A store's cosine that is not a number is ignored.
  const near = cosine > 0 ? Math.min(1, cosine) : 0;
  return MOST_WEAK * (1 - (1 - words) * (1 - near));
}

/** In a namespace with at least this many entries, a word that over half of them have does not count. */
const MANY_ENTRIES = 100;

/**
 * Returns each word's share of the weight of a query, from the number of entries that have it (`having`) out of `all`. As in BM25, a
 * rarer word weighs more. A word in over half of many entries weighs nothing.
 */
export function shareOfWords(having: readonly number[], all: number): number[] {
  const weights = having.map((some) => (all >= MANY_ENTRIES && some > all / 2 ? 0 : Math.log(1 + (all - some + 0.5) / (some + 0.5))));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / (whole || 1));
}

/** Returns the cosine between two vectors; 0 if their lengths differ, for example after a change of the embedding model. */
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

/** An entry found by a database: its number, which is higher for a newer entry, and its score or a part of it. */
export interface Hit<Id extends number | string> {
  number: Id;
  score: number;
}

/**
 * Returns the entries that match only by words or meaning, best first, newer first among equals: from those that have words of the
 * query, with their share of its weight, and those with a vector, with their cosine. Leaves out entries that contain the query.
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

/** Returns the share of a query's words that each folded text has, from 0 to 1, weighted by how rare they are in these texts. */
export function wordShares(texts: readonly string[], asked: readonly string[]): number[] {
  const had = texts.map((text) => new Set(wordsOf(text)));
  const having = asked.map((word) => had.filter((words) => words.has(word)).length);
  const shares = shareOfWords(having, texts.length);
  return had.map((words) => asked.reduce((sum, word, index) => sum + (words.has(word) ? (shares[index] ?? 0) : 0), 0));
}

/** The most distinct words of a query that count: more would make a long message slow to look up, without finding more. */
const MOST_WORDS = 50;

/**
 * Returns a text in the form used for comparison: composed (NFC), and in lower case by the locale-independent rules of Unicode. All stores
 * compare texts folded here, not by the rules of their database.
 */
export function foldedText(text: string): string {
  return text.toWellFormed().replaceAll('\0', ' ').normalize('NFC').toLowerCase();
}

/** Returns a value in the form used for comparison: a text itself, everything else as JSON. */
export function foldedValue(value: JsonValue): string {
  return foldedText(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Returns the distinct words of a folded text, in order. */
export function wordsOf(folded: string): string[] {
  return [...new Set(folded.match(/[\p{L}\p{N}\p{M}]+/gu))];
}

/** Returns the first 50 distinct words of a folded query. */
export function queryWords(folded: string): string[] {
  return wordsOf(folded).slice(0, MOST_WORDS);
}

/** Returns a vector for each text, all of the same length. You provide the model and its key. */
export type Embed = (texts: string[]) => Promise<number[][]>;

/** The options of a memory with embedding. */
export interface EmbeddingOptions {
  /** Milliseconds that `embed` may take. Default 1,500: the first model call of a run waits for the memory no longer than 2 seconds. */
  timeoutMs?: number;
  /** Called with a line if `embed` fails. */
  log?: (line: string) => void;
}

const TIMEOUT_MS = 1_500;

/** The most characters of a text that are embedded: models refuse longer ones. */
const MOST_CHARS = 8_000;

/**
 * Returns a memory that stores values with a vector, and also compares queries by vector. If `embed` fails or takes too long, a value is
 * stored without a vector and a query only compares texts, with a line in the log. Vectors given by the caller are kept.
 */
export function withEmbedding(
  store: MemoryStore,
  embed: Embed,
  { timeoutMs = TIMEOUT_MS, log = () => {} }: EmbeddingOptions = {},
): MemoryStore {
  const vectorOf = async (text: string, without: string): Promise<{ vector?: number[] }> => {
    try {
      return { vector: await embedded(embed, text.toWellFormed().slice(0, MOST_CHARS), timeoutMs) };
    } catch (error) {
      log(`The memory: "embed" failed, so ${without}: ${errorMessage(error)}`);
      return {};
    }
  };
  return {
    remember: async (entry) => {
      if (entry.vector !== undefined) return store.remember(entry);
      return store.remember({ ...entry, ...(await vectorOf(embeddedText(entry.key, entry.value), 'a value is stored without a vector')) });
    },
    recall: async (query) => {
      if (query.vector !== undefined || query.text.trim() === '') return store.recall(query);
      return store.recall({ ...query, ...(await vectorOf(query.text, 'a query only compares texts')) });
    },
    forget: (what) => store.forget(what),
    forgetNamespaces: (what) => store.forgetNamespaces(what),
    listNamespaces: (what) => store.listNamespaces(what),
    list: (what) => store.list(what),
  };
}

async function embedded(embed: Embed, text: string, timeoutMs: number): Promise<number[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LonghaulError('memory_failed', `it has not answered in ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    const vectors = await Promise.race([embed([text]), late]);
    const [vector] = Array.isArray(vectors) ? vectors : [];
    if (!Array.isArray(vector)) throw new LonghaulError('memory_failed', 'it returned no list of vectors');
    requireVector('the vector that it returned', vector);
    return vector;
  } finally {
    clearTimeout(timer);
  }
}

function embeddedText(key: string, value: JsonValue): string {
  return `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}

/** The most dimensions of a vector: the limit of pgvector. */
const MOST_DIMENSIONS = 16_000;

/** The largest 32-bit float: databases store vectors as such, and refuse larger numbers. */
const MOST = 3.4028234663852886e38;

/** Throws a UsageError unless a vector has 1 to 16,000 finite numbers that 32 bits can hold. */
function requireVector(what: string, vector: readonly number[]): void {
  if (vector.length === 0 || !vector.every((one) => Number.isFinite(one) && Math.abs(one) <= MOST))
    throw new UsageError(`${what} is not a list of finite 32-bit numbers`);
  if (vector.length > MOST_DIMENSIONS)
    throw new UsageError(`${what} has ${vector.length} numbers, over ${MOST_DIMENSIONS}: make it shorter`);
}

/**
 * Returns a vector with length 1, which has the same cosines: squares of very large or small numbers overflow or vanish in a database
 * that computes with 32 bits. Undefined for a vector of only zeros, which has no direction. Throws a UsageError as `requireVector`.
 */
export function directionOf(what: string, vector: readonly number[]): number[] | undefined {
  requireVector(what, vector);
  const largest = vector.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  if (largest === 0) return undefined;
  const scaled = vector.map((one) => one / largest);
  const length = Math.sqrt(scaled.reduce((sum, one) => sum + one * one, 0));
  return scaled.map((one) => Math.fround(one / length));
}
