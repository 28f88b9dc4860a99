import type { WaitDeadline } from '../../../../src/core/domain/time.ts';

interface Wait {
  isMet: () => boolean;
  deadline: WaitDeadline | undefined;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** The number of waits that may end in sequence before another event: in a workflow, no other event could come between them. */
const SPINNING = 1_000;

/**
 * Schedules a fake run and its environment. A wait is checked again after each event. If no event can come by itself any more,
 * the next caller acts; if no caller is left, the clock jumps to the nearest deadline; without a deadline, the waits fail.
 */
export class FakeScheduler {
  now = 1_700_000_000_000;
  /** Called if no event can come by itself; returns false if no caller is left. */
  act: () => boolean = () => false;
  readonly #waits = new Set<Wait>();
  #cancelled = false;
  #goingOn = 0;
  #waitsAtOnce = 0;
  #isLooking = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Cancels the run. */
  cancel(): void {
    this.#cancelled = true;
    this.notify();
  }

  /** The port `until`. */
  until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void> {
    this.#waitsAtOnce += 1;
    if (this.#waitsAtOnce > SPINNING)
      return Promise.reject(new Error('The loop waits for what is there already, and goes round in circles'));
    return new Promise((resolve, reject) => {
      this.#waits.add({ isMet, deadline, resolve, reject });
      this.notify();
    });
  }

  /** Checks the waits again after an event. */
  notify(): void {
    for (const wait of this.#waits) {
      if (!this.#cancelled && !wait.isMet() && (wait.deadline?.at ?? Infinity) > this.now) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => this.#look());
  }

  /** Work in progress: meanwhile no caller acts, and no deadline passes. */
  async during<Result>(work: Result | Promise<Result>): Promise<Result> {
    this.#goingOn += 1;
    try {
      return await work;
    } finally {
      // The loop is notified first.
      setImmediate(() => {
        this.#goingOn -= 1;
        this.notify();
      });
    }
  }

  #look(): void {
    this.#isLooking = false;
    this.#waitsAtOnce = 0;
    if (this.#waits.size === 0 || this.#goingOn > 0) return;
    if (!this.act()) this.#jump();
    this.notify();
  }

  #jump(): void {
    const deadlines = [...this.#waits].map(({ deadline }) => deadline?.at ?? Infinity);
    const next = Math.min(...deadlines);
    if (next < Infinity) this.now = next;
    else for (const { reject } of this.#waits) reject(new Error('The run waits, and no caller has a request'));
  }
}
