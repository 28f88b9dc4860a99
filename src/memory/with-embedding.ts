import { errorMessage, LonghaulError } from '../core/domain/errors.ts';
import type { JsonValue } from '../core/domain/json.ts';
import { requireVector } from './search/vector.ts';
import type { MemoryStore } from './memory-store.ts';

/** Returns a vector for each text, all of one length: the model and its key are yours. */
export type Embed = (texts: string[]) => Promise<number[][]>;

/** The options of a memory with embedding. */
export interface EmbeddingOptions {
  /** Milliseconds that `embed` may take. Default 1,500: the first model call of a run waits for the memory no longer than 2 seconds. */
  timeoutMs?: number;
  /** Called with a line if `embed` fails. */
  log?: (line: string) => void;
}

const TIMEOUT_MS = 1_500;

/** Characters of a text that are embedded: models refuse longer ones. */
const MOST_CHARS = 8_000;

/**
 * Returns a memory that stores values with a vector, and compares queries by theirs too. If `embed` fails, or takes too long, a value is
 * stored without a vector and a query only compares texts; a line of the log says so. Vectors that the caller gives are kept.
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
      return store.remember({ ...entry, ...(await vectorOf(textOf(entry.key, entry.value), 'a value is stored without a vector')) });
    },
    recall: async (query) => {
      if (query.vector !== undefined || query.text.trim() === '') return store.recall(query);
      return store.recall({ ...query, ...(await vectorOf(query.text, 'a query only compares texts')) });
    },
    forget: (what) => store.forget(what),
    forgetNamespaces: (what) => store.forgetNamespaces(what),
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

function textOf(key: string, value: JsonValue): string {
  return `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
