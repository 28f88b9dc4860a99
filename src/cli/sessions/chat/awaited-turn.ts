/** The requests about a turn that a session may not have answered yet. */
export type TurnRequest = 'message' | 'interruption';

/** A turn that the person waits for, from the message that begins it to its end. */
export class AwaitedTurn {
  /** Resolves to the number of the turn once the session has taken the message. Never, if it refuses the message. */
  readonly number: Promise<number>;
  /** Aborted when the person does not wait any more. */
  readonly signal: AbortSignal;
  /** Resolves the number of the turn. */
  begins: (number: number) => void = () => undefined;
  readonly #ended = new AbortController();
  readonly #interrupted = new AbortController();
  readonly #unanswered = new Set<TurnRequest>();

  constructor(signal: AbortSignal) {
    this.number = new Promise((resolve) => (this.begins = resolve));
    this.signal = AbortSignal.any([this.#ended.signal, signal]);
  }

  /** Aborted when the person interrupts the turn. */
  get interrupted(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** The requests that have no answer yet. */
  get unanswered(): ReadonlySet<TurnRequest> {
    return this.#unanswered;
  }

  /** Waits for the answer to a request. */
  async answered<Answer>(request: TurnRequest, answer: Promise<Answer>): Promise<Answer> {
    this.#unanswered.add(request);
    try {
      return await answer;
    } finally {
      this.#unanswered.delete(request);
    }
  }

  interrupt(): void {
    this.#interrupted.abort();
  }

  end(): void {
    this.#ended.abort();
  }
}
