import { setImmediate } from 'node:timers/promises';
import type { WaitDeadline } from '../../../../src/core/domain/time.ts';

interface Wait {
  isMet: () => boolean;
  at: number;
  resolve: () => void;
}

/** A clock that jumps to the next time that something waits for, once nothing else is left to do. */
export class VirtualClock {
  now = 1_800_000_000_000;
  /** The turns that woke something. */
  turns = 0;
  readonly #waits = new Set<Wait>();

  /** Waits until the condition holds, or that time has come. */
  until(isMet: () => boolean, deadline?: Pick<WaitDeadline, 'at'>): Promise<void> {
    return new Promise((resolve) => {
      this.#waits.add({ isMet, at: deadline?.at ?? Infinity, resolve });
    });
  }

  /** Waits for some milliseconds. */
  async pass(ms: number): Promise<void> {
    await this.until(() => false, { at: this.now + ms });
  }

  /**
   * Lets time pass until `isDone`. `act` is called when nothing is due; it returns false if it has nothing to do. Returns false if
   * there is nothing left to wait for, or the turns are used up.
   */
  async run(isDone: () => boolean, act: () => boolean, maxTurns: number): Promise<boolean> {
    for (this.turns = 0; this.turns < maxTurns; this.turns += 1) {
      await setImmediate();
      if (isDone()) return true;
      if (this.#wake() || act()) continue;
      const next = Math.min(...[...this.#waits].map(({ at }) => at));
      if (next === Infinity) return false;
      this.now = Math.max(this.now, next);
      this.#wake();
    }
    return false;
  }

  #wake(): boolean {
    const due = [...this.#waits].filter(({ isMet, at }) => at <= this.now || isMet());
    for (const wait of due) {
      this.#waits.delete(wait);
      wait.resolve();
    }
    return due.length > 0;
  }
}
