/** How often requests may be made. */
interface PaceOptions {
  /** The burst: requests that may be made at once after an idle time. */
  atOnce: number;
  /** Milliseconds between two requests at a steady rate. */
  everyMs: number;
}

/** Limits the rate of queries to a run: the first few are sent at once, later ones at an interval. */
export class QuestionPace {
  readonly #atOnce: number;
  readonly #everyMs: number;
  /** The time at which the whole burst is available again. */
  #paidAt = 0;

  constructor({ atOnce, everyMs }: PaceOptions) {
    this.#atOnce = atOnce;
    this.#everyMs = everyMs;
  }

  /** The earliest time of the next query. */
  get nextAt(): number {
    return this.#paidAt - (this.#atOnce - 1) * this.#everyMs;
  }

  /** Records that a query is sent now. */
  asked(now: number): void {
    this.#paidAt = Math.max(this.#paidAt, now) + this.#everyMs;
  }
}
