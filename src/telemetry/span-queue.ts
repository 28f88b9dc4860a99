/** The bounds of a queue of spans. */
interface QueueBounds {
  /** The most spans that wait. Further ones are dropped. */
  most: number;
  /** The most spans that are sent at once. */
  batch: number;
  /** The longest time that a span waits for others, in milliseconds. */
  everyMs: number;
  /** The time after which spans that are being sent are given up, in milliseconds. */
  timeoutMs: number;
}

/** The bounds of OpenTelemetry's own batches, with a shorter wait. */
const BOUNDS: QueueBounds = { most: 2_048, batch: 512, everyMs: 1_000, timeoutMs: 10_000 };

/**
 * Spans on their way to a backend. Ending a span never waits: if the backend is slow or down, spans are lost, and each is counted.
 */
export class SpanQueue<Item> {
  readonly #send: (items: Item[]) => Promise<void>;
  readonly #drop: (count: number) => void;
  readonly #bounds: QueueBounds;
  #waiting: Item[] = [];
  #sending: Promise<void> | undefined;
  /** The numbers of items that were taken, that were sent or given up, and for which a flush waits, counted from the first. */
  #taken = 0;
  #settled = 0;
  #awaited = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `drop` counts spans that are lost. */
  constructor(send: (items: Item[]) => Promise<void>, drop: (count: number) => void, bounds: Partial<QueueBounds> = {}) {
    this.#send = send;
    this.#drop = drop;
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  add(item: Item): void {
    const { most, batch, everyMs } = this.#bounds;
    if (this.#waiting.length >= most) {
      this.#drop(1);
      return;
    }
    this.#waiting.push(item);
    this.#taken += 1;
    if (this.#waiting.length >= batch) void this.#next();
    // A process may end although spans wait: it flushes if it wants them sent.
    else this.#timer ??= setTimeout(() => void this.#next(), everyMs).unref();
  }

  /**
   * Resolves once everything that waits now is sent, or given up: all of it, if the backend does not answer in time, because a process waits
   * for this before it ends.
   */
  async flush(): Promise<void> {
    const taken = this.#taken;
    this.#awaited = taken;
    while (this.#settled < taken) await this.#next();
  }

  /** Drops the items for which a flush waits. */
  #giveUp(): void {
    const items = this.#waiting.splice(0, Math.max(0, this.#awaited - this.#settled));
    this.#settled += items.length;
    if (items.length > 0) this.#drop(items.length);
  }

  /** Sends the next spans, unless others are being sent. */
  #next(): Promise<void> {
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length >= this.#bounds.batch) void this.#next();
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => void this.#next(), this.#bounds.everyMs).unref();
    });
    return this.#sending;
  }

  async #sendBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const items = this.#waiting.splice(0, this.#bounds.batch);
    if (items.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    let isLate = false;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isLate = true;
        reject(new Error('the backend has not answered in time'));
      }, this.#bounds.timeoutMs);
    });
    try {
      await Promise.race([this.#send(items), late]);
    } catch {
      this.#drop(items.length);
    } finally {
      clearTimeout(timer);
      this.#settled += items.length;
      if (isLate) this.#giveUp();
    }
  }
}

/** The flag of a span that is recorded. */
const SAMPLED = 1;

/** A span of an SDK, which says if it is recorded. */
export interface Sampled {
  /** Returns the ids of the span, and whether it is recorded. */
  spanContext(): { traceFlags: number };
}

/** Sends spans of an SDK somewhere. */
export interface SpanExporter<Span> {
  /** `code` 0: they have arrived. */
  export(spans: Span[], done: (result: { code: number; error?: Error }) => void): void;
  /** Sends what waits, and ends. */
  shutdown(): Promise<void>;
}

/** Takes the spans that an SDK ends. */
export interface SpanProcessor<Span> {
  /** A span has begun. */
  onStart(): void;
  /** A span has ended. */
  onEnd(span: Span): void;
  /** Sends what waits. */
  forceFlush(): Promise<void>;
  /** Sends what waits, and ends. */
  shutdown(): Promise<void>;
}

/** Returns a processor for an exporter of an SDK that counts the spans which are lost. */
export function queueingProcessor<Span extends Sampled>(exporter: SpanExporter<Span>, drop: (count: number) => void): SpanProcessor<Span> {
  const send = (spans: Span[]): Promise<void> =>
    new Promise((resolve, reject) =>
      exporter.export(spans, ({ code, error }) => (code === 0 ? resolve() : reject(error ?? new Error(`the exporter answered ${code}`)))),
    );
  const queue = new SpanQueue(send, drop);
  return {
    onStart: () => undefined,
    onEnd: (span) => {
      if ((span.spanContext().traceFlags & SAMPLED) !== 0) queue.add(span);
    },
    forceFlush: () => queue.flush(),
    shutdown: async () => {
      await queue.flush();
      await exporter.shutdown();
    },
  };
}
