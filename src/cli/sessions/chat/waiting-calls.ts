import type { ApprovalView } from '../../../core/domain/approvals/approval.ts';

/** The calls that a person was asked about, and the pause that the person was told of. */
export class WaitingCalls {
  readonly #asked = new Set<string>();
  #isPaused = false;

  /** Returns a pending call that the person was not asked about, and counts it as one. */
  firstNew(pending: readonly ApprovalView[]): ApprovalView | undefined {
    const waiting = pending.find(({ key }) => !this.#asked.has(key));
    if (waiting !== undefined) this.#asked.add(waiting.key);
    return waiting;
  }

  /** True if the session is paused, and was not when this was asked before. */
  isPausedNow(isPaused: boolean): boolean {
    const before = this.#isPaused;
    this.#isPaused = isPaused;
    return isPaused && !before;
  }
}
