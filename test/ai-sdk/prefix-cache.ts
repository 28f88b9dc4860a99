import { createHash } from 'node:crypto';
import type { Body } from './families.ts';

/** Anthropic finds a beginning that it has cached within this many blocks before a mark, and caches no shorter one. */
const LOOK_BACK = 20;
const LEAST_TOKENS = 1_024;

/** What a read and a written token cost of what any other costs. */
const READ_PRICE = 0.1;
const WRITE_PRICE = 1.25;

/** The tokens of one request. */
export interface CachedInput {
  plain: number;
  read: number;
  written: number;
}

/** The cache of Anthropic, by its documented rules: beginnings of requests that end at a mark. */
export class PrefixCache {
  readonly #known = new Set<string>();
  /** The requests so far. */
  readonly inputs: CachedInput[] = [];
  /** The most marks of a request. */
  marks = 0;

  /** Returns what a request reads and writes. */
  take({ tools = [], system = [], messages }: Body): CachedInput {
    const blocks = [tools, system, ...(messages as Body[]).map(({ content }) => content)].flat() as (Body | string)[];
    let [digest, tokens] = ['', 0];
    const prefixes = blocks.map((block) => {
      const { cache_control: mark, ...rest } = typeof block === 'string' ? { text: block, cache_control: undefined } : block;
      const text = JSON.stringify(rest);
      digest = createHash('sha1').update(digest).update(text).digest('hex');
      tokens += Math.ceil(text.length / 4);
      return { digest, tokens, isMarked: mark !== undefined };
    });
    const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    this.marks = Math.max(this.marks, marks.length);
    const found = marks
      .flatMap((mark) => prefixes.slice(Math.max(0, mark - LOOK_BACK + 1), mark + 1))
      .filter((one) => this.#known.has(one.digest));
    const read = Math.max(0, ...found.map((one) => one.tokens));
    const cached = marks.flatMap((mark) => prefixes[mark] ?? []).filter((one) => one.tokens >= LEAST_TOKENS);
    for (const one of cached) this.#known.add(one.digest);
    const written = Math.max(0, (cached.at(-1)?.tokens ?? 0) - read);
    const input = { plain: tokens - read - written, read, written };
    this.inputs.push(input);
    return input;
  }

  /** The share of all tokens that was read from the cache. */
  get hit(): number {
    return this.#sum('read') / this.#all;
  }

  /** The cost of the input, as a fraction of its cost without a cache. */
  get price(): number {
    return (this.#sum('plain') + this.#sum('read') * READ_PRICE + this.#sum('written') * WRITE_PRICE) / this.#all;
  }

  get #all(): number {
    return this.#sum('plain') + this.#sum('read') + this.#sum('written');
  }

  #sum(field: keyof CachedInput): number {
    return this.inputs.reduce((sum, input) => sum + input[field], 0);
  }
}
