import { sleep } from '../temporal/waiting.ts';

/** Settles like the promise, or rejects with the error after a time. */
export async function within<Value>(ms: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like the promise, or resolves with undefined when the signal is aborted. */
export async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  // The promise may reject after the wait has ended.
  promise.catch(() => undefined);
  if (signal.aborted) return undefined;
  let stop = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Waits, at most until the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, signal).catch(() => undefined);
}

/** The microtask turns that an available value needs to pass the iterators around it: each takes a few. */
const TURNS = 50;

/**
 * Reads an iterator with a timeout, for a reader that does something else after each wait. It listens once to
 * each promise of the iterator, which may stay open for days: racing it with every wait would keep all waits in memory.
 */
export class NextValue<Value> {
  readonly #values: AsyncIterator<Value, unknown> | undefined;
  readonly #bell = new Bell();
  #got: IteratorResult<Value, unknown> | undefined;
  #failure: { cause: unknown } | undefined;
  #isAsked = false;

  /** Without an iterator, there is never a value. */
  constructor(values?: AsyncIterator<Value, unknown>) {
    this.#values = values;
  }

  /** Returns the next value; undefined after this many milliseconds or when the signal is aborted. Rejects if the iterator fails. */
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

  /** Returns the next value if it is already available, otherwise undefined. Errors of the iterator are left to `within`. */
  async ready(): Promise<IteratorResult<Value, unknown> | undefined> {
    void this.#ask();
    for (let turn = 0; turn < TURNS && this.#got === undefined && this.#failure === undefined; turn += 1) await Promise.resolve();
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

/** Wakes all who wait for news. */
export class Bell {
  #waiting = new Set<() => void>();

  /** Wakes those who wait now. */
  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Resolves at the next ring, or when the signal is aborted. */
  next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

/** The bounds of the entries that a log keeps. */
export interface LogBounds {
  entries: number;
  bytes: number;
}

interface Kept<Entry> {
  entry: Entry | undefined;
  bytes: number;
}

/** The newest entries of a run, for any number of readers. An entry keeps its index for as long as the log exists. */
export class BoundedLog<Entry> {
  /** Rings after each entry, and when entries that readers may lack are dropped. */
  readonly bell = new Bell();
  #kept: Kept<Entry>[] = [];
  /** The number of dropped entries at the beginning of `#kept`: the array is not shortened for each. */
  #dropped = 0;
  #first = 0;
  #bytes = 0;

  /** The index of the oldest entry that is kept, or of the next one. */
  get first(): number {
    return this.#first;
  }

  /** The index of the next entry. */
  get next(): number {
    return this.#first + this.#kept.length - this.#dropped;
  }

  /** The bytes of all entries that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds an entry, and drops the oldest ones beyond the bounds: all of them, if the entry alone exceeds them. */
  append(entry: Entry, bytes: number, bounds: LogBounds): void {
    this.#kept.push({ entry, bytes });
    this.#bytes += bytes;
    while (this.#bytes > bounds.bytes || this.next - this.#first > bounds.entries) this.#dropOldest();
    this.bell.ring();
  }

  /** Returns the entry at an index; undefined if it was dropped or does not exist yet. */
  at(index: number): Entry | undefined {
    return this.#kept[index - this.#first + this.#dropped]?.entry;
  }

  /** Drops all entries. A reader that has read them notices nothing. */
  clear(): void {
    this.#first = this.next;
    this.#kept = [];
    this.#dropped = 0;
    this.#bytes = 0;
    this.bell.ring();
  }

  #dropOldest(): void {
    this.#bytes -= this.#kept[this.#dropped]?.bytes ?? 0;
    // The entry may be large: release it before the array is shortened.
    this.#kept[this.#dropped] = { entry: undefined, bytes: 0 };
    this.#first += 1;
    this.#dropped += 1;
    if (this.#dropped * 2 < this.#kept.length) return;
    this.#kept = this.#kept.slice(this.#dropped);
    this.#dropped = 0;
  }
}
