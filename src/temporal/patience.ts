import { AsyncLocalStorage } from 'node:async_hooks';

const patience = new AsyncLocalStorage<number>();

/**
 * Does work whose calls to a server that is down are given up sooner: a call is tried for this many milliseconds, instead of 20 to 30
 * seconds. Holds for connections of `connect()`; those that a caller made keep their own retries.
 */
export function withPatience<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
  return patience.run(ms, work);
}

/** Returns the time for which a call to a server that is down is tried, in milliseconds; undefined for the usual one. */
export function patienceMs(): number | undefined {
  return patience.getStore();
}
