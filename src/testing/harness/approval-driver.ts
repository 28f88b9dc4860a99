import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { errorCode, errorMessage } from '../../core/domain/errors/error.ts';
import type { Decide, Waiting } from '../decisions.ts';
import type { RunAccess } from './run-access.ts';
import type { Harness } from './harness.ts';

/** A decision that is refused this often will not be taken. */
const MAX_REFUSALS = 5;

/** Decides in the name of the test: one thing that waits after the other, each once nothing else of the run goes on. */
export class ApprovalDriver {
  readonly #stage: Harness;
  readonly #run: RunAccess;
  readonly #decide: Decide;
  /** What has been decided, or is to be left alone. By its key. */
  readonly #done = new Set<string>();
  readonly #refusals = new Map<string, NonNullable<Waiting['refused']>[]>();
  #decisions = 0;

  constructor(stage: Harness, run: RunAccess, decide: Decide = () => undefined) {
    this.#stage = stage;
    this.#run = run;
    this.#decide = decide;
  }

  /** Deals with the first that is not dealt with. False where all are: time alone helps then. */
  async attend(pending: readonly ApprovalView[]): Promise<boolean> {
    for (const waiting of pending) {
      const said = this.#stage.plan.takeOccurrences({ step: waiting.step, waiting: waiting.toolName });
      for (const one of said) await this.#stage.say(one);
      if (said.length > 0) return true;
      if (!this.#done.has(waiting.key) && (await this.#attendTo(waiting))) return true;
    }
    return false;
  }

  async #attendTo(waiting: ApprovalView): Promise<boolean> {
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
