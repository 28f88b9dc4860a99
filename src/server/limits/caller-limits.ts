import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.ts';
import { type Admission, requireAdmission } from './admission.ts';
import { type CallerLimitOptions, checkedCallerLimits, type CheckedRate } from './caller-limit-options.ts';

/** The seconds after which a caller with too many streams may try again: nothing tells when it closes one. */
const STREAM_RETRY_SECONDS = 5;

/** A place among the open streams of a caller. */
interface StreamPlace {
  /** Gives the place back. Further calls do nothing. */
  close(): void;
}

/** The limits of the callers of one server: it counts by itself, so several servers allow as many times as much. */
export class CallerLimits {
  readonly #requests: RateLimit | undefined;
  readonly #starts: RateLimit | undefined;
  readonly #maxStreams: number;
  readonly #streams = new Map<string, number>();

  /** Throws a UsageError for a limit that is none. `now` is a clock in milliseconds. */
  constructor(options: CallerLimitOptions = {}, now: () => number = () => performance.now()) {
    const { requests, starts, streams, callers } = checkedCallerLimits(options);
    this.#requests = requests && new RateLimit(requests, callers, now);
    this.#starts = starts && new RateLimit(starts, callers, now);
    this.#maxStreams = streams;
  }

  /** Counts a request. */
  request(caller: Caller): Admission {
    return admission('requests', this.#requests?.take(keyOf(caller)) ?? 0);
  }

  /** Counts a start. */
  start(caller: Caller): Admission {
    return admission('starts', this.#starts?.take(keyOf(caller)) ?? 0);
  }

  /** Takes a place for a stream, which is held until it is closed. */
  stream(caller: Caller): (Extract<Admission, { allowed: true }> & StreamPlace) | Extract<Admission, { allowed: false }> {
    const key = keyOf(caller);
    const open = this.#streams.get(key) ?? 0;
    if (open >= this.#maxStreams) return { allowed: false, limit: 'streams', retryAfter: STREAM_RETRY_SECONDS };
    this.#streams.set(key, open + 1);
    let isOpen = true;
    return {
      allowed: true,
      close: () => {
        if (isOpen) this.#closed(key);
        isOpen = false;
      },
    };
  }

  /** Callers without open streams are not kept: there are never more entries than streams. */
  #closed(key: string): void {
    const left = (this.#streams.get(key) ?? 0) - 1;
    if (left > 0) this.#streams.set(key, left);
    else this.#streams.delete(key);
  }
}

/**
 * Takes a place among the open streams of a caller, and returns the function that gives it back. Throws `too_many_requests` if the caller
 * has as many as it may.
 */
export function takePlace(limits: CallerLimits | undefined, caller: Caller): () => void {
  const place = limits?.stream(caller);
  if (place === undefined) return () => undefined;
  requireAdmission(place);
  return () => {
    if (place.allowed) place.close();
  };
}

/** Returns the name by which a caller is counted: its principal, however many keys and tokens it has, or else its id. */
function keyOf({ id, principal }: Caller): string {
  return JSON.stringify(principal === undefined ? [id] : [principal.tenant ?? null, principal.user ?? null]);
}

function admission(limit: string, waitMs: number): Admission {
  return waitMs <= 0 ? { allowed: true } : { allowed: false, limit, retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** The sum of many small parts of a token may be a little less than one. */
const ROUNDING = 1e-9;

/** The tokens that are left of a rate, and the time at which they were. */
interface Bucket {
  left: number;
  at: number;
}

/** A rate for each caller: a bucket of tokens that fills evenly, of which each request takes one. */
class RateLimit {
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
