import type { CallsInFlight } from './calls-in-flight.ts';

/** The number of times that an activity without output is asked about at the full pace: the first heartbeat of a live call needs some time. */
const HOPEFUL_POLLS = 4;

/** The pace at which a reader asks the server: full while a call is live, and slower and slower otherwise. */
export class PollPace {
  readonly #everyMs: number;
  readonly #idleMs: number;
  #polls = new Map<string, number>();
  #waitMs: number;

  constructor(everyMs: number, idleMs: number) {
    this.#everyMs = everyMs;
    this.#idleMs = Math.max(everyMs, idleMs);
    // The first pause is a short one.
    this.#waitMs = everyMs / 2;
  }

  /** Returns the time until the next question. `calls`: the answer to the last one; undefined if there was none. */
  next(calls: CallsInFlight | undefined): number {
    const isLive = calls !== undefined && (calls.outputs.length > 0 || this.#mayBeLive(calls.others));
    this.#waitMs = isLive ? this.#everyMs : Math.min(this.#waitMs * 2, this.#idleMs);
    return this.#waitMs;
  }

  #mayBeLive(others: readonly string[]): boolean {
    this.#polls = new Map(others.map((id) => [id, (this.#polls.get(id) ?? 0) + 1]));
    return [...this.#polls.values()].some((polls) => polls <= HOPEFUL_POLLS);
  }
}
