import { Bell } from './bell.ts';

/**
 * The values that an iterator yields, one by one, for a reader that does something else whenever it has waited for a time. It listens once to
 * each promise of the iterator, which may stay open for days: to race it with every wait would keep all of them in memory.
 */
export class NextValue<Value> {
  readonly #values: AsyncIterator<Value, unknown> | undefined;
  readonly #bell = new Bell();
  #got: IteratorResult<Value, unknown> | undefined;
  #failure: { cause: unknown } | undefined;
  #isAsked = false;

  /** Without an iterator there is never a value. */
  constructor(values?: AsyncIterator<Value, unknown>) {
    this.#values = values;
  }

  /** Returns the next value; undefined if there is none within so many milliseconds, or before the signal is aborted. Rejects if the iterator fails. */
  async within(ms: number, signal: AbortSignal): Promise<IteratorResult<Value, unknown> | undefined> {
    void this.#ask();
    if (this.#got === undefined && this.#failure === undefined) {
      const timer = setTimeout(() => this.#bell.ring(), ms);
      await this.#bell.next(signal);
      clearTimeout(timer);
    }
    if (this.#failure !== undefined) throw this.#failure.cause;
    const got = this.#got;
    this.#got = undefined;
    return got;
  }

  async #ask(): Promise<void> {
    if (this.#isAsked || this.#got !== undefined || this.#values === undefined) return;
    this.#isAsked = true;
    try {
      this.#got = await this.#values.next();
      this.#isAsked = false;
    } catch (cause) {
      this.#failure = { cause };
    }
    this.#bell.ring();
  }
}
