import { UsageError } from '../../core/domain/errors.ts';
import { type Duration, milliseconds } from '../../core/domain/time.ts';

/** A number of requests in a time. All of them may come at once; then they are given back evenly over the time. */
export interface Rate {
  count: number;
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
export interface CheckedRate {
  count: number;
  perMs: number;
}

/** The options in the form in which they are checked. */
export interface CheckedCallerLimits {
  requests: CheckedRate | undefined;
  starts: CheckedRate | undefined;
  streams: number;
  callers: number;
}

/** Fills in the defaults. Throws a UsageError for a limit that is none. */
export function checkedCallerLimits(options: CallerLimitOptions): CheckedCallerLimits {
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
