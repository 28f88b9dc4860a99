import type { WaitDeadline } from '../../../../src/core/loop/ports.ts';

interface Wait {
  isMet: () => boolean;
  deadline: WaitDeadline | undefined;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Waits that end at once, one after the other, before anything else can happen: in a workflow nothing else ever could. */
const SPINNING = 1_000;

/**
 * What happens around a fake run. A wait is looked at again whenever something has happened. Once nothing can happen by
 * itself any more, the next person acts; where nobody is left, the clock jumps to the nearest deadline; where there is
 * none, the waits fail.
 */
export class FakeWorld {
  now = 1_700_000_000_000;
  /** Called once nothing can happen by itself; false where nobody has anything to say. */
  act: () => boolean = () => false;
  readonly #waits = new Set<Wait>();
  #cancelled = false;
  #goingOn = 0;
  #waitsAtOnce = 0;
  #isLooking = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** The run is to end as cancelled. */
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

  /** Something has happened. */
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

  /** Work that goes on by itself: nobody acts meanwhile, and no deadline is over. */
  async during<Result>(work: Result | Promise<Result>): Promise<Result> {
    this.#goingOn += 1;
    try {
      return await work;
    } finally {
      // The loop hears of it first.
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
    else for (const { reject } of this.#waits) reject(new Error('The run waits, and nobody has anything to say'));
  }
}
