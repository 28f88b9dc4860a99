import type { Decision, RefusedRequest } from './approvals.ts';

/** The outcome of a decision, for a sender who waits for it. */
export type Verdict = { type: 'decided'; decision: Decision } | { type: 'refused'; code: RefusedRequest['code']; message: string };

/** The outcome of a decision, and the number of callers who wait for it. */
interface Awaited {
  waiting: number;
  verdict: Verdict | undefined;
}

/** The decisions whose senders wait for an outcome. It is kept only as long as one of them waits, because it holds arguments and answers. */
export class AwaitedVerdicts {
  readonly #awaited = new Map<string, Awaited>();

  /** Notes that a caller waits for the outcome of a decision, until `forget`. */
  await(id: string): void {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) this.#awaited.set(id, { waiting: 1, verdict: undefined });
    else awaited.waiting += 1;
  }

  /** Stores the outcome of a decision for the callers who wait for it. */
  settle(id: string, verdict: Verdict): void {
    const awaited = this.#awaited.get(id);
    if (awaited !== undefined) awaited.verdict = verdict;
  }

  /** Returns the outcome of a decision; undefined if there is none yet, or if no caller waits for it. */
  on(id: string): Verdict | undefined {
    return this.#awaited.get(id)?.verdict;
  }

  /** Notes that a caller no longer waits. Without further ones, the outcome is dropped. */
  forget(id: string): void {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) return;
    awaited.waiting -= 1;
    if (awaited.waiting === 0) this.#awaited.delete(id);
  }

  /** The number of decisions whose outcome a caller waits for. */
  get size(): number {
    return this.#awaited.size;
  }
}
