import { LRUCache } from 'lru-cache';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import type { Caller } from './auth/caller.ts';

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

  /** Takes a place for a stream, which is held until it is closed. */
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
function countingKey({ id, principal }: Caller): string {
  return JSON.stringify(principal === undefined ? [id] : [principal.tenant ?? null, principal.user ?? null]);
}

function admissionAfter(limit: string, waitMs: number): Admission {
  return waitMs <= 0 ? { allowed: true } : { allowed: false, limit, retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** The sum of many small parts of a token may be a little less than one. */
const ROUNDING = 1e-9;

/** A rate for each caller: a bucket of tokens that fills evenly, of which each request takes one. */
class RateLimit {
  readonly #rate: CheckedRate;
  readonly #now: () => number;
  /** The tokens that were left of the rate of each caller, and when. */
  readonly #buckets: LRUCache<string, { left: number; at: number }>;

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

/** A number of requests in a time. All of them may come at once; then they are given back evenly over the time. */
export interface Rate {
  /** The number of requests that may come at once. */
  count: number;
  /** The time over which they are given back. */
  per: Duration;
}

/**
 * The limits of each principal, that is of a user or a tenant, however many keys and tokens it has. A caller that acts for no principal has
 * limits of its own. `false` turns one off.
 */
export interface CallerLimitOptions {
  /** Requests of any kind. Default 6,000 a minute. */
  requests?: Rate | false;
  /** Starts of runs, programs and turns. Default 600 a minute. */
  starts?: Rate | false;
  /** Streams that are open at the same time, with exports, requests that wait, and calls of MCP clients. Default 1,000. */
  streams?: number | false;
  /** The callers that the server remembers: beyond them, it forgets those that have not called for the longest time. Default 10,000. */
  callers?: number;
}

/** A rate in the form in which it is checked. */
interface CheckedRate {
  count: number;
  perMs: number;
}

/** The options in the form in which they are checked. */
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
  throw new UsageError(`The limit "${name}" is ${String(value)}: write a whole number of at least 1, or false for the limit as a whole`);
}

/** The answer of a limit. `retryAfter` is the time in whole seconds after which another request may be allowed. */
type Admission = { allowed: true } | { allowed: false; limit: string; retryAfter: number };

/** A request that a limit of its caller refuses. */
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
