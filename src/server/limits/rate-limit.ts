import { LRUCache } from 'lru-cache';
import type { CheckedRate } from './caller-limit-options.ts';

/** The sum of many small parts of a token may be a little less than one. */
const ROUNDING = 1e-9;

/** The tokens that are left of a rate, and the time at which they were. */
interface Bucket {
  left: number;
  at: number;
}

/** A rate for each caller: a bucket of tokens that fills evenly, of which each request takes one. */
export class RateLimit {
  readonly #rate: CheckedRate;
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor(rate: CheckedRate, callers: number, now: () => number) {
    this.#rate = rate;
    this.#now = now;
    this.#buckets = new LRUCache({ max: callers });
  }

  /** Takes a token of the caller's. Returns 0, or the milliseconds until there is one. */
  take(caller: string): number {
    const { count, perMs } = this.#rate;
    const now = this.#now();
    const { left, at } = this.#buckets.get(caller) ?? { left: count, at: now };
    // A clock that goes back gives nothing and takes nothing.
    const filled = Math.min(count, left + (Math.max(0, now - at) * count) / perMs);
    const isAllowed = filled >= 1 - ROUNDING;
    this.#buckets.set(caller, { left: isAllowed ? Math.max(0, filled - 1) : filled, at: now });
    return isAllowed ? 0 : ((1 - filled) * perMs) / count;
  }
}
