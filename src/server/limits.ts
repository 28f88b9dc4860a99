import { shownValue } from '../core/domain/text.ts';
import { LRUCache } from 'lru-cache';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import type { Caller } from './auth/caller.ts';

/** The seconds after which a caller with too many streams may retry: it is unknown when it will close one. */
const STREAM_RETRY_SECONDS = 5;

/** A slot for an open stream of a caller. */
interface StreamPlace {
  /** Releases the slot. Further calls do nothing. */
  close(): void;
}

/** The limits of a server's callers. Each server counts separately, so several servers allow a multiple. */
export class CallerLimits {
  readonly #requests: RateLimit | undefined;
  readonly #starts: RateLimit | undefined;
  readonly #maxStreams: number;
  readonly #streams = new Map<string, number>();

  /** Throws a UsageError for an invalid limit. `now` is a clock in milliseconds. */
  constructor(options: CallerLimitOptions = {}, now: () => number = () => performance.now()) {
    const { requests, starts, streams, callers } = checkedCallerLimits(options);
    this.#requests = requests && new RateLimit(requests, callers, now);
    this.#starts = starts && new RateLimit(starts, callers, now);
    this.#maxStreams = streams;
  }

  /** Counts a request. */
  request(caller: Caller): Admission {
    return admissionAfter('requests', this.#requests?.take(countingKey(caller)) ?? 0);
  }

  /** Counts a start. */
  start(caller: Caller): Admission {
    return admissionAfter('starts', this.#starts?.take(countingKey(caller)) ?? 0);
  }

  /** Takes a slot for a stream, to be held until `close`. */
  stream(caller: Caller): (Extract<Admission, { allowed: true }> & StreamPlace) | Extract<Admission, { allowed: false }> {
    const key = countingKey(caller);
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

  /** Removes callers without open streams, so that there are never more entries than streams. */
  #closed(key: string): void {
    const left = (this.#streams.get(key) ?? 0) - 1;
    if (left > 0) this.#streams.set(key, left);
    else this.#streams.delete(key);
  }
}

/**
 * Takes a slot for an open stream of a caller, and returns the function that releases it. Throws `too_many_requests` if the caller
 * has reached its limit.
 */
export function takePlace(limits: CallerLimits | undefined, caller: Caller): () => void {
  const place = limits?.stream(caller);
  if (place === undefined) return () => undefined;
  requireAdmission(place);
  return () => {
    if (place.allowed) place.close();
  };
}

/** Returns the key for counting a caller: its principal, however many keys and tokens it has, or else its id. */
function countingKey({ id, principal }: Caller): string {
  return JSON.stringify(principal === 'all' ? [id] : [principal.tenant ?? null, principal.user ?? null]);
}

function admissionAfter(limit: string, waitMs: number): Admission {
  return waitMs <= 0 ? { allowed: true } : { allowed: false, limit, retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** Rounding error: the sum of many small parts of a token may be a little less than one. */
const ROUNDING = 1e-9;

/** A rate limit per caller: a token bucket that fills evenly, from which each request takes one token. */
class RateLimit {
  readonly #rate: CheckedRate;
  readonly #now: () => number;
  /** The tokens left for each caller, and when they were counted. */
  readonly #buckets: LRUCache<string, { left: number; at: number }>;

  constructor(rate: CheckedRate, callers: number, now: () => number) {
    this.#rate = rate;
    this.#now = now;
    this.#buckets = new LRUCache({ max: callers });
  }

  /** Takes a token from the caller's bucket. Returns 0, or the milliseconds until there is one. */
  take(caller: string): number {
    const { count, perMs } = this.#rate;
    const now = this.#now();
    const { left, at } = this.#buckets.get(caller) ?? { left: count, at: now };
    // A clock that goes backwards changes nothing.
    const filled = Math.min(count, left + (Math.max(0, now - at) * count) / perMs);
    const isAllowed = filled >= 1 - ROUNDING;
    this.#buckets.set(caller, { left: isAllowed ? Math.max(0, filled - 1) : filled, at: now });
    return isAllowed ? 0 : ((1 - filled) * perMs) / count;
  }
}

/** A number of requests per time. All of them may come at once; they become available again evenly over the time. */
export interface Rate {
  /** The number of requests that may come at once. */
  count: number;
  /** The time over which they become available again. */
  per: Duration;
}

/**
 * The limits of each principal (a user or a tenant), however many keys and tokens it has. A caller that acts for none
 * (`'all'`) has separate limits. `false` turns a limit off.
 */
export interface CallerLimitOptions {
  /** Requests of any kind. Default 6,000 a minute. */
  requests?: Rate | false;
  /** Starts of runs, programs and turns. Default 600 a minute. */
  starts?: Rate | false;
  /** Streams that are open at the same time, including exports, requests that wait, and calls of MCP clients. Default 1,000. */
  streams?: number | false;
  /** The most callers that the server tracks: beyond that, it forgets the least recently active. Default 10,000. */
  callers?: number;
}

/** A validated rate. */
interface CheckedRate {
  count: number;
  perMs: number;
}

/** The validated options. */
interface CheckedCallerLimits {
  requests: CheckedRate | undefined;
  starts: CheckedRate | undefined;
  streams: number;
  callers: number;
}

/** Fills in the defaults. Throws a UsageError for an invalid limit. */
function checkedCallerLimits(options: CallerLimitOptions): CheckedCallerLimits {
  const { requests = { count: 6_000, per: '1m' }, starts = { count: 600, per: '1m' }, streams = 1_000, callers = 10_000 } = options;
  return {
    requests: checkedRate('requests', requests),
    starts: checkedRate('starts', starts),
    streams: streams === false ? Infinity : wholeNumber('streams', streams),
    callers: wholeNumber('callers', callers),
  };
}

function checkedRate(name: string, rate: Rate | false): CheckedRate | undefined {
  if (rate === false) return undefined;
  return { count: wholeNumber(`${name}.count`, rate.count), perMs: milliseconds(rate.per, `The limit "${name}.per"`) };
}

function wholeNumber(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new UsageError(
    `The limit "${name}" is ${shownValue(value)}: write a whole number of at least 1, or false for the limit as a whole`,
  );
}

/** The decision of a limit. `retryAfter` is the time in whole seconds after which another request may be allowed. */
type Admission = { allowed: true } | { allowed: false; limit: string; retryAfter: number };

/** A request that is over a limit of its caller. */
export class TooManyRequestsError extends LonghaulError {
  override readonly name = 'TooManyRequestsError';
  /** The seconds to wait, for the header `Retry-After`. */
  readonly parts: { retryAfterSeconds: number };

  constructor(limit: string, retryAfter: number) {
    super('too_many_requests', `The caller has reached its limit of "${limit}": try again after ${retryAfter} seconds`);
    this.parts = { retryAfterSeconds: retryAfter };
  }
}

/** Throws `too_many_requests` unless a limit allows the request. */
export function requireAdmission(admission: Admission): void {
  if (!admission.allowed) throw new TooManyRequestsError(admission.limit, admission.retryAfter);
}
