import type { ApprovalView } from '../../core/domain/approvals.ts';
import { errorCode, errorMessage } from '../../core/domain/errors.ts';
import type { Decide, Waiting } from '../decisions.ts';
import type { RunAccess } from './run-access.ts';
import type { Harness } from './harness.ts';

/** The number of refusals after which a decision is given up. */
const MAX_REFUSALS = 5;

/** Makes the decisions of a test, one at a time, each when nothing else of the run is running. */
export class ApprovalDriver {
  readonly #harness: Harness;
  readonly #run: RunAccess;
  readonly #decide: Decide;
  /** Keys of pending decisions that the test has made or leaves alone. */
  readonly #done = new Set<string>();
  readonly #refusals = new Map<string, NonNullable<Waiting['refused']>[]>();
  #decisions = 0;

  constructor(harness: Harness, run: RunAccess, decide: Decide = () => undefined) {
    this.#harness = harness;
    this.#run = run;
    this.#decide = decide;
  }

  /**
   * Acts on the first pending decision that the test has not handled. Returns false if all are handled: only time can
   * change something then.
   */
  async decideNext(pending: readonly ApprovalView[]): Promise<boolean> {
    for (const waiting of pending) {
      const due = this.#harness.plan.takeOccurrences({ step: waiting.step, waiting: waiting.toolName });
      for (const occurrence of due) await this.#harness.say(occurrence);
      if (due.length > 0) return true;
      if (!this.#done.has(waiting.key) && (await this.#decideAbout(waiting))) return true;
    }
    return false;
  }

  async #decideAbout(waiting: ApprovalView): Promise<boolean> {
    const refusals = this.#refusals.get(waiting.key) ?? [];
    const refused = refusals.at(-1);
    const decision = await this.#decide({ ...waiting, ...(refused === undefined ? {} : { refused }) });
    this.#done.add(waiting.key);
    if (decision === undefined) return false;
    try {
      await this.#run.decide(`decision ${++this.#decisions}`, waiting, decision);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined || refusals.length === MAX_REFUSALS) throw error;
      this.#refusals.set(waiting.key, [...refusals, { code, message: errorMessage(error) }]);
      this.#done.delete(waiting.key);
    }
    return true;
  }
}
