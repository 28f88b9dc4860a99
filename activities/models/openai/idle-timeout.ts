/** An abort signal for one request: it follows the caller's signal, and aborts after a time without data. */
export class IdleTimeout {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow: () => void;
  readonly #timer: NodeJS.Timeout;
  #expired = false;

  constructor(outer: AbortSignal, timeoutMs: number) {
    this.#outer = outer;
    this.#follow = () => this.#controller.abort(outer.reason);
    outer.addEventListener('abort', this.#follow, { once: true });
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#controller.abort();
    }, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the timeout ended the request. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Restarts the timeout. */
  heard(): void {
    this.#timer.refresh();
  }

  /** Releases the caller's signal, and the connection if the answer was not read to its end. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#follow);
    this.#controller.abort();
  }
}
