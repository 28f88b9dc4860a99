/** How often something may be asked for. */
interface PaceOptions {
  /** Questions that may follow each other at once, after a time without any. */
  atOnce: number;
  /** Milliseconds between two questions of those who keep asking. */
  everyMs: number;
}

/** The pace of questions to a run: the first ones are asked at once, and from then on one in a time, however much there is to ask for. */
export class QuestionPace {
  readonly #atOnce: number;
  readonly #everyMs: number;
  /** The time at which all questions that were asked so far are paid for. */
  #paidAt = 0;

  constructor({ atOnce, everyMs }: PaceOptions) {
    this.#atOnce = atOnce;
    this.#everyMs = everyMs;
  }

  /** The time from which on the next question may be asked. */
  get nextAt(): number {
    return this.#paidAt - (this.#atOnce - 1) * this.#everyMs;
  }

  /** Notes that a question is asked now. */
  asked(now: number): void {
    this.#paidAt = Math.max(this.#paidAt, now) + this.#everyMs;
  }
}
