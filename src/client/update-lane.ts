import type { Client } from '@temporalio/client';
import { pause } from './waiting.ts';

/**
 * The server takes ten Updates of a run at a time. It sheds the eleventh, and then forgets what else it has in memory of
 * the run: the ten are aborted, and queries that wait are never answered. Whoever tries again soon makes it worse, and a
 * run that many talk to comes to a standstill. Therefore a client has few Updates on their way to a run, and goes slower
 * where it learns that others do the same.
 */

/** Updates that one client has on their way to one run at a time. Messages go one after the other, so that they stay in their order. */
const AT_ONCE = { messages: 1, others: 4 };

/** Milliseconds between two Updates, where there is a need for any. */
const SHORTEST_GAP_MS = 25;
const LONGEST_GAP_MS = 1_000;

/** What the gap is multiplied by when an Update was shed, was aborted because another was shed, or came through. */
const GAP_FACTORS = { shed: 2, aborted: 1.3, taken: 0.9 };

/** The way of one client's Updates to one run. */
export class UpdateLane {
  readonly #atOnce: number;
  readonly #queue = new Set<() => void>();
  #open = 0;
  #gapMs = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Nothing is on its way or waits, and nothing was shed of late. */
  get isFree(): boolean {
    return this.#open === 0 && this.#queue.size === 0 && this.#gapMs === 0;
  }

  /** Waits for its turn and then does the work, whatever becomes of it. Undefined where the turn has not come at the deadline. */
  async inTurn<Result>(deadline: number, work: () => Promise<Result>): Promise<Result | undefined> {
    if (!(await this.#turn(deadline))) return undefined;
    try {
      return await work();
    } finally {
      // The place is handed on: nobody comes between.
      const [next] = this.#queue;
      if (next === undefined) this.#open -= 1;
      else next();
    }
  }

  /** Keeps the distance to the Update before. */
  async keepGap(): Promise<void> {
    // Clients that were shed together must not come back together.
    if (this.#gapMs > 0) await pause(this.#gapMs * (0.5 + Math.random()));
  }

  /** What has become of an Update: the distance to the next follows from it. */
  learn(what: keyof typeof GAP_FACTORS): void {
    const gapMs = Math.max(this.#gapMs, what === 'taken' ? 0 : SHORTEST_GAP_MS) * GAP_FACTORS[what];
    this.#gapMs = gapMs < SHORTEST_GAP_MS ? 0 : Math.min(gapMs, LONGEST_GAP_MS);
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

const lanes = new WeakMap<Client, Map<string, UpdateLane>>();

/** The lane of this client to the run: one for messages, and one for everything else, which must not wait behind them. */
export function laneOf(client: Client, runId: string, kind: keyof typeof AT_ONCE): UpdateLane {
  const own = lanes.get(client) ?? new Map<string, UpdateLane>();
  lanes.set(client, own);
  for (const [name, lane] of own) if (lane.isFree) own.delete(name);
  const name = `${kind} ${runId}`;
  const lane = own.get(name) ?? new UpdateLane(AT_ONCE[kind]);
  own.set(name, lane);
  return lane;
}
