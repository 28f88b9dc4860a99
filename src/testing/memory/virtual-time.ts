/** Something that is to happen at its time. */
interface Timer {
  at: number;
  fire: () => void;
}

interface Wait {
  isMet: () => boolean;
  resolve: () => void;
}

/** What happens when nothing goes on any more. */
export interface Idleness {
  /** Lets somebody act. False where nobody has anything to do. */
  act: () => Promise<boolean>;
  /** Nobody acts, and there is no timer: nothing will ever happen. */
  stuck: () => void;
}

/**
 * The time of a run in memory. It is the real time as long as something real goes on (an attempt of an activity, the
 * code of a test). When nothing does, people act; when they have nothing to do, it jumps to the nearest timer.
 */
export class VirtualTime {
  #ahead = 0;
  #goingOn = 0;
  #isActing = false;
  #isOver = false;
  #look: NodeJS.Immediate | undefined;
  #alarm: NodeJS.Timeout | undefined;
  readonly #timers = new Set<Timer>();
  readonly #waits = new Set<Wait>();
  readonly #idleness: Idleness;

  constructor(idleness: Idleness) {
    this.#idleness = idleness;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Real work: time does not jump meanwhile. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    this.#goingOn += 1;
    try {
      return await work;
    } finally {
      this.#goingOn -= 1;
      this.changed();
    }
  }

  /** Until that time. The signal ends the wait early. */
  async sleepUntil(at: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer: Timer = { at, fire: resolve };
    this.#timers.add(timer);
    signal?.addEventListener('abort', () => resolve(), { once: true });
    if (signal?.aborted) resolve();
    this.changed();
    await promise;
    this.#timers.delete(timer);
  }

  /** Until the condition holds, or that time has come. Never at once: whoever waits in circles must not block the process. */
  async until(isMet: () => boolean, at?: number): Promise<void> {
    const over = new AbortController();
    await new Promise<void>((resolve) => {
      this.#waits.add({ isMet, resolve });
      if (at !== undefined) void this.sleepUntil(at, over.signal).then(resolve);
      this.changed();
    });
    over.abort();
  }

  /** Something has happened: whoever waits looks again. */
  changed(): void {
    if (this.#isOver) return;
    this.#look ??= setImmediate(() => {
      this.#look = undefined;
      this.#settle();
    });
  }

  /** Nothing more is to happen. */
  end(): void {
    this.#isOver = true;
    clearImmediate(this.#look);
    clearTimeout(this.#alarm);
  }

  #settle(): void {
    if (this.#isOver) return;
    clearTimeout(this.#alarm);
    if (this.#wake()) this.changed();
    else if (this.#goingOn > 0) this.#wakeInTime();
    else if (this.#isActing) this.#jump();
    else void this.#act();
  }

  /** Lets those go on whose time has come. */
  #wake(): boolean {
    const dueTimers = [...this.#timers].filter(({ at }) => at <= this.now());
    const dueWaits = [...this.#waits].filter(({ isMet }) => isMet());
    for (const timer of dueTimers) {
      this.#timers.delete(timer);
      timer.fire();
    }
    for (const wait of dueWaits) {
      this.#waits.delete(wait);
      wait.resolve();
    }
    return dueTimers.length + dueWaits.length > 0;
  }

  /** What goes on may take longer than until the nearest timer. */
  #wakeInTime(): void {
    const next = this.#nearest();
    if (next !== undefined) this.#alarm = setTimeout(() => this.changed(), Math.max(0, next - this.now()));
  }

  async #act(): Promise<void> {
    this.#isActing = true;
    const hasActed = await this.#idleness.act();
    this.#isActing = false;
    if (hasActed || this.#goingOn > 0 || this.#wake()) this.changed();
    else if (!this.#isOver) this.#jump();
  }

  #jump(): void {
    const next = this.#nearest();
    if (next !== undefined) {
      this.#ahead += Math.max(0, next - this.now());
      this.changed();
    } else if (!this.#isActing) {
      this.#idleness.stuck();
    }
  }

  #nearest(): number | undefined {
    const times = [...this.#timers].map(({ at }) => at);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
