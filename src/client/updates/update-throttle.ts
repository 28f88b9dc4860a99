import type { Client } from '@temporalio/client';
import { sleep, jitter } from '../../temporal/waiting.ts';

/**
 * The server takes ten Updates of a run at a time. It sheds the eleventh, and then forgets what else it has in memory of
 * the run: the ten are aborted, the workflow task in flight is lost, and queries that wait are never answered. Whoever
 * tries again soon makes it worse, and a run that many talk to comes to a standstill. Therefore a client has few Updates
 * on their way to a run, and leaves room between them where it learns that others do the same.
 */

/** Updates that one client has on their way to one run at a time. Messages go one after the other, so that they stay in their order. */
const AT_ONCE = { messages: 1, others: 2 };

/** The part of the time in which a client has an Update on its way: it falls when something is shed, at most once a second, and grows with every Update that is taken. */
const SHARE = { least: 0.05, factor: 0.6, growth: 0.002 };
const FALLS_EVERY_MS = 1_000;

/** The way of an Update takes so long at first, and what is known of it moves by so much with each. */
const USUAL_MS = 25;
const NEWEST_WEIGHT = 0.2;
const LONGEST_GAP_MS = 1_000;

/** A lane that nobody has used for so long is forgotten, with what it has learned. */
const IDLE_MS = 10_000;

/** The way of one client's Updates to one run. */
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

  /** Nothing is on its way, and nothing was shed of late. */
  isFree(now: number): boolean {
    return this.#open === 0 && (this.#share === 1 || now - this.#usedAt > IDLE_MS);
  }

  /** Waits for its turn and then does the work, whatever becomes of it. Undefined where the turn has not come at the deadline. */
  async inTurn<Result>(deadline: number, work: () => Promise<Result>): Promise<Result | undefined> {
    if (!(await this.#turn(deadline))) return undefined;
    try {
      return await work();
    } finally {
      this.#usedAt = Date.now();
      // The place is handed on: nobody comes between.
      const [next] = this.#queue;
      if (next === undefined) this.#open -= 1;
      else next();
    }
  }

  /** Leaves room before the next Update, where that is needed. */
  async keepGap(): Promise<void> {
    const gapMs = Math.min(LONGEST_GAP_MS, this.#usualMs * (1 / this.#share - 1));
    if (gapMs > 0) await sleep(jitter(gapMs));
  }

  /** An Update was taken, after so many milliseconds. */
  taken(ms: number): void {
    // One that took long met a moment of silence: what counts is the time without.
    this.#usualMs += (Math.min(ms, 2 * this.#usualMs) - this.#usualMs) * NEWEST_WEIGHT;
    this.#share = Math.min(1, this.#share + SHARE.growth);
  }

  /** An Update was shed, or aborted because another was. */
  congested(now: number): void {
    if (now - this.#fellAt < FALLS_EVERY_MS) return;
    this.#fellAt = now;
    this.#share = Math.max(SHARE.least, this.#share * SHARE.factor);
  }

  /** True once it is the turn of whoever asks, in the order in which they have asked. */
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

const lanes = new WeakMap<Client, Map<string, UpdateThrottle>>();

/** The lane of this client to the run: one for messages, and one for everything else, which must not wait behind them. */
export function throttleOf(client: Client, runId: string, kind: keyof typeof AT_ONCE): UpdateThrottle {
  const own = lanes.get(client) ?? new Map<string, UpdateThrottle>();
  lanes.set(client, own);
  const now = Date.now();
  for (const [name, lane] of own) if (lane.isFree(now)) own.delete(name);
  const name = `${kind} ${runId}`;
  const lane = own.get(name) ?? new UpdateThrottle(AT_ONCE[kind]);
  own.set(name, lane);
  return lane;
}
