import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { LonghaulError } from '../core/domain/errors.ts';
import { type Missing, missingText } from '../core/domain/missing-definitions.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';

/** Limits of a wait. Neither affects the run, which continues. */
export interface WaitOptions {
  /** The time limit of the wait. Default: none. */
  timeout?: Duration;
  /** Ends the wait: the method throws the reason of the signal, and the run continues. */
  signal?: AbortSignal;
}

/** Returns one signal for the caller's own signal and the time limit; undefined if there is neither. */
export function waitSignal({ timeout, signal }: WaitOptions): AbortSignal | undefined {
  const timeUp = timeout === undefined ? undefined : AbortSignal.timeout(timerMilliseconds(timeout, 'result: "timeout"'));
  const signals = [signal, timeUp].filter((one) => one !== undefined);
  return signals.length === 0 ? undefined : AbortSignal.any(signals);
}

/**
 * Returns the error for a wait that ended early: the reason of the caller's signal, or `wait_timeout` with what no
 * worker has provided so far.
 */
export function waitEnded(runId: string, { timeout, signal }: WaitOptions, missing: readonly Missing[] = []): unknown {
  if (signal?.aborted) return signal.reason;
  const why = missing.map((one) => ` ${missingText(one)}`).join('');
  return new LonghaulError(
    'wait_timeout',
    `Run "${runId}" has not ended within ${timeoutText(timeout)}. It continues: wait again, or cancel it.${why}`,
  );
}

function timeoutText(timeout: Duration | undefined): string {
  return typeof timeout === 'number' ? `${timeout} ms` : String(timeout);
}

/** Functions that set and clear a timer. */
interface Timers<Timer> {
  set: (call: () => void, ms: number) => Timer;
  clear: (timer: Timer) => void;
}

/** Waits for this many milliseconds, or rejects with the reason of the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await sleepBy({ set: setTimeout, clear: clearTimeout }, ms, signal);
}

/** As `sleep`, with these timers. */
export async function sleepBy<Timer>({ set, clear }: Timers<Timer>, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clear(timer);
      reject(signal?.reason);
    };
    const timer = set(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Rejects with the reason of the signal once that is aborted. */
export async function rejectedOnAbort(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

/** Returns a random number of milliseconds, between half and one and a half times as many. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random());
}

/** Does the work for items, `size` of them at once, and yields the results in the order of the items. */
export async function* inBatches<Item, Result>(
  items: AsyncIterable<Item> | Iterable<Item>,
  size: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield* await Promise.all(batch.map((one) => work(one)));
    batch = [];
  }
  yield* await Promise.all(batch.map((one) => work(one)));
}

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
