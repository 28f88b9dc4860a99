import type { Client } from '@temporalio/client';
import { sleep, jitter } from '../../temporal/waiting.ts';

/**
 * Limits the Updates that one client has in flight to a run. The server accepts ten Updates of a run at a time. It sheds
 * the eleventh, and then drops everything else that it has in memory of the run: the ten are aborted, the workflow task in
 * flight is lost, and waiting queries are never answered. A client that tries again soon makes it worse, and a run with
 * many callers comes to a standstill. Therefore a client has few Updates in flight to a run, and pauses between them if it
 * learns that others do the same.
 */

/** Updates that one client has in flight to one run at a time. Messages go one after the other, so that they stay in order. */
const AT_ONCE = { messages: 1, others: 2 };

/** The part of the time in which a client has an Update in flight: it falls when an Update is shed, at most once a second, and grows with every accepted one. */
const SHARE = { least: 0.05, factor: 0.6, growth: 0.002 };
const FALLS_EVERY_MS = 1_000;

/** The first estimate of how long an Update takes, and the weight of each new measurement. */
const USUAL_MS = 25;
const NEWEST_WEIGHT = 0.2;
const LONGEST_GAP_MS = 1_000;

/** A throttle that was not used for this long is dropped, with what it has learned. */
const IDLE_MS = 10_000;

/** Limits the Updates of one client to one run. */
export class UpdateThrottle {
  readonly #atOnce: number;
  readonly #queue = new Set<() => void>();
  #open = 0;
  #share = 1;
  #fellAt = 0;
  #usualMs = USUAL_MS;
  #usedAt = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** True if nothing is in flight, and nothing was shed recently. */
  isFree(now: number): boolean {
    return this.#open === 0 && (this.#share === 1 || now - this.#usedAt > IDLE_MS);
  }

  /** Waits for its turn and then does the work, whether that succeeds or not. Undefined if the turn has not come at the deadline. */
  async inTurn<Result>(deadline: number, work: () => Promise<Result>): Promise<Result | undefined> {
    if (!(await this.#turn(deadline))) return undefined;
    try {
      return await work();
    } finally {
      this.#usedAt = Date.now();
      // The turn goes to the next in the queue directly, so that no later caller gets ahead of it.
      const [next] = this.#queue;
      if (next === undefined) this.#open -= 1;
      else next();
    }
  }

  /** Pauses before the next Update, if that is needed. */
  async keepGap(): Promise<void> {
    const gapMs = Math.min(LONGEST_GAP_MS, this.#usualMs * (1 / this.#share - 1));
    if (gapMs > 0) await sleep(jitter(gapMs));
  }

  /** Records that an Update was accepted, after this many milliseconds. */
  accepted(ms: number): void {
    // An Update that took long may have met a pause of the run: its excess is cut off.
    this.#usualMs += (Math.min(ms, 2 * this.#usualMs) - this.#usualMs) * NEWEST_WEIGHT;
    this.#share = Math.min(1, this.#share + SHARE.growth);
  }

  /** Records that an Update was shed, or aborted because another was. */
  congested(now: number): void {
    if (now - this.#fellAt < FALLS_EVERY_MS) return;
    this.#fellAt = now;
    this.#share = Math.max(SHARE.least, this.#share * SHARE.factor);
  }

  /** True once it is the caller's turn, in the order of the calls; false at the deadline. */
  async #turn(deadline: number): Promise<boolean> {
    if (this.#open < this.#atOnce) {
      this.#open += 1;
      return true;
    }
    const called = Promise.withResolvers<boolean>();
    const call = (): void => called.resolve(this.#queue.delete(call));
    this.#queue.add(call);
    const giveUp = setTimeout(() => called.resolve(!this.#queue.delete(call)), deadline - Date.now());
    const isCalled = await called.promise;
    clearTimeout(giveUp);
    return isCalled;
  }
}

const throttles = new WeakMap<Client, Map<string, UpdateThrottle>>();

/** Returns the throttle of this client for the run: one for messages, and one for everything else, which must not wait behind them. */
export function throttleOf(client: Client, runId: string, kind: keyof typeof AT_ONCE): UpdateThrottle {
  const own = throttles.get(client) ?? new Map<string, UpdateThrottle>();
  throttles.set(client, own);
  const now = Date.now();
  for (const [name, throttle] of own) if (throttle.isFree(now)) own.delete(name);
  const name = `${kind} ${runId}`;
  const throttle = own.get(name) ?? new UpdateThrottle(AT_ONCE[kind]);
  own.set(name, throttle);
  return throttle;
}
