import type { StreamItem } from '../../../client/stream/stream-item.ts';

/** Takes the items of a stream one by one, and waits for each no longer than the caller wants. */
export class NextItem {
  readonly #stopped = new AbortController();
  readonly #items: AsyncGenerator<StreamItem>;
  #next: Promise<IteratorResult<StreamItem>> | undefined;

  /** Opens the stream with a signal that is aborted with the given one, and when the reading stops. */
  constructor(open: (signal: AbortSignal) => AsyncGenerator<StreamItem>, signal: AbortSignal) {
    this.#items = open(AbortSignal.any([signal, this.#stopped.signal]));
  }

  /** Returns the next item; `over` if there is none any more, and `late` if it has not come within so many milliseconds. */
  async next(ms?: number): Promise<StreamItem | 'over' | 'late'> {
    this.#next ??= this.#items.next();
    const got = ms === undefined ? await this.#next : await within(this.#next, ms);
    if (got === undefined) return 'late';
    this.#next = undefined;
    return got.done ? 'over' : got.value;
  }

  /** Ends the reading. An item that is waited for is dropped. */
  stop(): void {
    this.#stopped.abort();
    this.#next?.catch(() => undefined);
    this.#items.return(undefined).catch(() => undefined);
  }
}

async function within<Value>(value: Promise<Value>, ms: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
