import { clearRealImmediate, clearRealTimeout, realTime, setRealImmediate, setRealTimeout } from '../../temporal/real-timers.ts';

interface Timer {
  at: number;
  fire: () => void;
}

/** The actions of a test when nothing is running. */
interface Idleness {
  /** Lets the test act. Resolves to false if it has nothing to do. */
  act: () => Promise<boolean>;
  /** Called if the test has nothing to do and there is no timer, so that the run can never continue. */
  stuck: () => void;
}

/**
 * The clock of a run in memory. It follows real time while something is running (an attempt of an activity, the
 * test's code). When nothing is running, the test may act; if it has nothing to do, the clock jumps to the next timer.
 */
export class VirtualTime {
  /** A test may have chosen the time: how far that is ahead of the real one. */
  #ahead = Date.now() - realTime();
  #goingOn = 0;
  #isActing = false;
  #isOver = false;
  #look: NodeJS.Immediate | undefined;
  #alarm: NodeJS.Timeout | undefined;
  readonly #timers = new Set<Timer>();
  readonly #waits = new Set<{ isMet: () => boolean; resolve: () => void }>();
  readonly #idleness: Idleness;

  constructor(idleness: Idleness) {
    this.#idleness = idleness;
  }

  /** Returns the current time in milliseconds since the epoch. */
  now(): number {
    return realTime() + this.#ahead;
  }

  /** Waits for real work, during which the clock does not jump. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    this.#goingOn += 1;
    // Timers may become due meanwhile.
    this.changed();
    try {
      return await work;
    } finally {
      this.#goingOn -= 1;
      this.changed();
    }
  }

  /** Waits until that time. The signal ends the wait early. */
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

  /**
   * Waits until the condition holds or that time has come. Never resolves synchronously, so that a loop of waits
   * cannot block the process.
   */
  async until(isMet: () => boolean, at?: number): Promise<void> {
    const over = new AbortController();
    await new Promise<void>((resolve) => {
      this.#waits.add({ isMet, resolve });
      if (at !== undefined) void this.sleepUntil(at, over.signal).then(resolve);
      this.changed();
    });
    over.abort();
  }

  /** Makes all waits check their conditions again. */
  changed(): void {
    if (this.#isOver) return;
    this.#look ??= setRealImmediate(() => {
      this.#look = undefined;
      this.#settle();
    });
  }

  /** Stops the clock. */
  end(): void {
    this.#isOver = true;
    clearRealImmediate(this.#look);
    clearRealTimeout(this.#alarm);
  }

  #settle(): void {
    if (this.#isOver) return;
    clearRealTimeout(this.#alarm);
    if (this.#wake()) this.changed();
    else if (this.#goingOn > 0) this.#wakeInTime();
    else if (this.#isActing) this.#jump();
    else void this.#act();
  }

  /** Wakes the waits and timers that are due. */
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

  /** Sets an alarm for the next timer, because the running work may take longer. */
  #wakeInTime(): void {
    const next = this.#nearest();
    if (next !== undefined) this.#alarm = setRealTimeout(() => this.changed(), Math.max(0, next - this.now()));
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
