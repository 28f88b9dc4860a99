import { AsyncLocalStorage } from 'node:async_hooks';

/** An activity's call that is made inside another activity. */
export interface InsideCall {
  name: string;
  input: unknown;
}

/** A function around an attempt at a call. */
export type AroundCall = (call: InsideCall, make: () => Promise<unknown>) => Promise<unknown>;

const around = new AsyncLocalStorage<AroundCall>();

/** Runs a burst with `act` around each attempt at its calls, like a worker's interceptors around activities. For tests. */
export function withAroundCalls<Result>(act: AroundCall, burst: () => Promise<Result>): Promise<Result> {
  return around.run(act, burst);
}

/** Returns the function around the attempts at the current burst's calls, if any. */
export function aroundCalls(): AroundCall | undefined {
  return around.getStore();
}
