/**
 * Bytes that calls may have in flight at a time, arguments and results together. A task of the workflow takes 4 MB
 * of commands, its state on the server 8 MB of inputs, and as many results may come back at once.
 */
export const MAX_BYTES_IN_FLIGHT = 3_000_000;

/** The calls of a response that are going on. */
export class InFlight {
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;

  /** The calls that are going on. */
  get count(): number {
    return this.#running.size;
  }

  /** True where a call of that size may start beside those that are going on. One alone always may. */
  hasRoomFor(bytes: number): boolean {
    return this.#running.size === 0 || this.#bytes + bytes <= MAX_BYTES_IN_FLIGHT;
  }

  /** Holds the bytes of a call until it has ended; `ended` is told how. The call must not reject. */
  add<Outcome>(bytes: number, call: Promise<Outcome>, ended: (outcome: Outcome) => void): void {
    this.#bytes += bytes;
    const running = call.then((outcome) => {
      this.#bytes -= bytes;
      this.#running.delete(running);
      return ended(outcome);
    });
    this.#running.add(running);
  }

  /** Until one of them has ended. */
  async one(): Promise<void> {
    await Promise.race(this.#running);
  }

  async all(): Promise<void> {
    await Promise.all(this.#running);
  }
}
