// Tool phase: calls that are running.

import type { LeftCall } from '../children/agent-calls.ts';
import type { ToolOutcome } from '../ports.ts';

/** The outcome of a call; `left` for an agent that the next execution waits for. */
export type Ended = ToolOutcome | LeftCall;

/**
 * Bytes that calls may have in flight at a time, arguments and results together. A task of the workflow takes 4 MB
 * of commands, its state on the server 8 MB of inputs, and as many results may come back at once.
 */
const MAX_BYTES_IN_FLIGHT = 3_000_000;

interface RunningCall {
  bytes: number;
  outcome: Promise<Ended>;
  /** Resolves when the call has ended. Absent until calls are watched one by one. */
  ended?: Promise<void>;
}

/** The calls of a response that are running, by index, and the bytes that they may bring. */
export class InFlight {
  /** The number of calls that have ended. */
  ended = 0;
  readonly #running = new Map<number, RunningCall>();
  readonly #onEnd: (index: number, outcome: Ended) => void;
  #bytes = 0;

  /** `onEnd` receives the outcome of each call. */
  constructor(onEnd: (index: number, outcome: Ended) => void) {
    this.#onEnd = onEnd;
  }

  /** The number of calls that are running. */
  get count(): number {
    return this.#running.size;
  }

  /** The indexes of the calls that are running. */
  get indexes(): MapIterator<number> {
    return this.#running.keys();
  }

  has(index: number): boolean {
    return this.#running.has(index);
  }

  /** True if a call of that size may start beside those that are running. One alone always may. */
  hasRoomFor(bytes: number): boolean {
    return this.#running.size === 0 || this.#bytes + bytes <= MAX_BYTES_IN_FLIGHT;
  }

  /** Holds the bytes of a call until it has ended. The call must not reject. */
  add(index: number, bytes: number, outcome: Promise<Ended>): void {
    this.#bytes += bytes;
    this.#running.set(index, { bytes, outcome });
  }

  /** Makes each running call report its own end. Only on demand: in the sandbox every promise costs a stack trace. */
  watch(): Promise<void>[] {
    return [...this.#running].map(([index, call]) => (call.ended ??= call.outcome.then((outcome) => this.#end(index, outcome))));
  }

  /** Waits until one of the calls has ended. */
  async one(): Promise<void> {
    await Promise.race(this.watch());
  }

  /** Waits until all calls have ended. Not async, and a single call is put into no array: in the sandbox every promise costs a stack trace. */
  all(): Promise<void> {
    const [only] = this.#running.size === 1 ? this.watch() : [];
    return only ?? this.#allTogether();
  }

  async #allTogether(): Promise<void> {
    const running = [...this.#running];
    const outcomes = await Promise.all(running.map(([, { outcome }]) => outcome));
    for (const [position, [index]] of running.entries()) {
      const outcome = outcomes[position];
      if (outcome !== undefined) this.#end(index, outcome);
    }
  }

  #end(index: number, outcome: Ended): void {
    const call = this.#running.get(index);
    if (call === undefined) return;
    this.#running.delete(index);
    this.#bytes -= call.bytes;
    this.ended += 1;
    this.#onEnd(index, outcome);
  }
}
