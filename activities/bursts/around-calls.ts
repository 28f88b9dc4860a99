import { AsyncLocalStorage } from 'node:async_hooks';

/** A call of an activity that is made inside of another one. */
export interface InsideCall {
  name: string;
  input: unknown;
}

/** Makes an attempt at a call, or something around it. */
export type AroundCall = (call: InsideCall, make: () => Promise<unknown>) => Promise<unknown>;

const around = new AsyncLocalStorage<AroundCall>();

/** Runs a burst. `act` stands around each attempt at its calls, as the interceptors of a worker do around activities: for tests. */
export function withAroundCalls<Result>(act: AroundCall, burst: () => Promise<Result>): Promise<Result> {
  return around.run(act, burst);
}

/** Returns what stands around the attempts at the calls of the current burst, if anything does. */
export function aroundCalls(): AroundCall | undefined {
  return around.getStore();
}
