import type { BegunCall, BurstEntry, BurstRecord } from './burst.ts';

/** Calls back as soon as the code that runs has ended. */
const LATER = Promise.resolve();

/** A burst that has ended. */
export interface EndedBurst {
  record: BurstRecord;
  /** The ids of the events that the run makes itself are made of it. */
  seed: string;
  /** The time at which it began, in milliseconds since the epoch. */
  begunAt: number;
}

/** What stands around the loop that receives outcomes. */
export interface BurstListener {
  /** Resolves once the loop has done everything that it can. */
  settled(): Promise<void>;
  /** Called when the loop has received an outcome: for conditions that are checked only after something has happened. */
  delivered?(): void;
}

/**
 * Plays the outcomes of a burst back to the loop of the run, each to the call that it belongs to, in the order in which the loop of the burst
 * has learned of them: before the next one, the loop does everything that it can with those before.
 */
export class RecordedBurst {
  /** The time at which the burst learned of the last outcome that the loop has, in milliseconds since the epoch. */
  at: number;
  readonly #begunAt: number;
  readonly #entries: readonly BurstEntry[];
  readonly #left: BegunCall[];
  readonly #listener: BurstListener;
  /** The entries that the loop has asked for, by their indexes. */
  readonly #taken = new Set<number>();
  /** Give the outcomes to the calls that wait for them, by the index of the entry. */
  readonly #waiting = new Map<number, (entry: BurstEntry) => void>();
  #delivered = 0;
  #isDelivering = false;

  constructor({ record, begunAt }: EndedBurst, listener: BurstListener) {
    this.at = begunAt;
    this.#begunAt = begunAt;
    this.#entries = record.entries;
    this.#left = [...(record.left ?? [])];
    this.#listener = listener;
  }

  /** True as long as there are outcomes that the loop has not received. */
  get isPlaying(): boolean {
    return this.#delivered < this.#entries.length;
  }

  /** The entries that the loop has not asked for. */
  get unasked(): BurstEntry[] {
    return this.isPlaying ? this.#entries.filter((_, index) => !this.#taken.has(index)) : [];
  }

  /** Removes and returns a call that the burst has begun and left to the run. */
  takeBegun(key: string): BegunCall | undefined {
    const index = this.#left.findIndex((one) => one.key === key);
    return index < 0 ? undefined : this.#left.splice(index, 1)[0];
  }

  /**
   * Returns the outcome of a call, as `read` reads it, once it is its turn; undefined if the burst has not made the call to its end. Every
   * promise in the sandbox costs time, and each step has two calls.
   */
  take<Outcome>(key: string, read: (entry: BurstEntry) => Outcome): Promise<Outcome> | undefined {
    if (!this.isPlaying) return undefined;
    const index = this.#entries.findIndex((entry, at) => entry.key === key && !this.#taken.has(at));
    if (index < 0) return undefined;
    this.#taken.add(index);
    return new Promise((resolve, reject) => {
      this.#waiting.set(index, (entry) => {
        try {
          resolve(read(entry));
        } catch (error) {
          reject(error);
        }
      });
      if (this.#isDelivering) return;
      this.#isDelivering = true;
      // The loop may be about to start further calls, which see the time before the first outcome.
      void LATER.then(() => this.#deliver());
    });
  }

  /** True if the loop asks for this entry although it has not asked for all that came before. */
  isEarly(key: string): boolean {
    const index = this.#entries.findIndex((entry) => entry.key === key);
    return this.#entries.some((_, before) => !this.#taken.has(before) && (index < 0 || before < index));
  }

  /** `isSettled`: the loop has done everything that it can. */
  #deliver(isSettled = false): void {
    const index = Math.min(...this.#waiting.keys());
    // An outcome that came before, and that nobody asks for even then, is not waited for: it is found left over.
    if (index !== this.#delivered && !isSettled) return this.#deliverOnceSettled();
    const give = this.#waiting.get(index);
    const entry = this.#entries[index];
    if (give !== undefined && entry !== undefined) {
      this.#waiting.delete(index);
      this.#delivered += 1;
      this.at = Math.max(this.at, this.#begunAt + entry.at);
      give(entry);
      this.#listener.delivered?.();
    }
    // The loop acts on it before it learns of the next one.
    if (this.#waiting.size > 0) return this.#deliverOnceSettled();
    this.#isDelivering = false;
  }

  #deliverOnceSettled(): void {
    void this.#listener.settled().then(() => this.#deliver(true));
  }
}
