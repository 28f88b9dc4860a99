// Programs: the amounts that running children have been given.

import type { OwnLimits } from '../../domain/agent/agent-snapshot.ts';
import type { LimitChanges, LimitReached } from '../../domain/agent/limits.ts';
import type { ProgramState } from '../../domain/program/program-state.ts';
import { limitReached, reserveCalls } from '../../loop/limits/limits.ts';
import type { RunState } from '../../loop/state/run-state.ts';
import { type Amounts, amountsOf, limitsOf, sumOf, withMore } from './amounts.ts';
import { shareOf } from './share.ts';
import type { Verdict } from './admission.ts';

/** The limits of a run as its steps and its children share them. */
export class ChildBudget {
  readonly #state: RunState;
  readonly #program: ProgramState;
  /** By the address of the step. */
  readonly #given = new Map<string, Amounts>();
  #sum: Amounts = new Map();
  /** The number of lists of steps that run side by side. */
  lanes = 0;

  constructor(state: RunState, program: ProgramState) {
    this.#state = state;
    this.#program = program;
    for (const [at, { progress }] of program.steps)
      if (progress?.child !== undefined) this.#keep(at, amountsOf(progress.child.given ?? {}));
  }

  /** Runs lists of steps side by side. */
  async sideBySide<End>(lists: readonly (() => Promise<End>)[]): Promise<End[]> {
    let running = lists.length;
    this.lanes += Math.max(0, running - 1);
    return Promise.all(
      lists.map(async (list) => {
        const end = await list();
        running -= 1;
        if (running > 0) this.lanes -= 1;
        return end;
      }),
    );
  }

  /** Returns the verdict on a model call, which counts as one in flight once it may start. */
  onModelCall(now: number): Verdict<true> {
    const { asksInFlight } = this.#program;
    const verdict = this.#verdict((state) => limitReached(state, now, { final: false }));
    // Counted at once: other steps ask before this call has begun.
    if (verdict.type === 'start') this.#program.asksInFlight = asksInFlight + 1;
    return verdict;
  }

  /** Returns the verdict on a tool call. It counts once it starts, which must be at once. */
  onToolCall(name: string, now: number): Verdict<true> {
    const over = limitReached(this.#state, now, { final: true });
    if (over !== undefined) return { type: 'limit', reached: over };
    return this.#verdict((state) => reserveCalls(state, [name]).reached);
  }

  /** Returns the verdict on a step that uses no amount. */
  onOther(now: number): Verdict<true> {
    const reached = limitReached(this.#state, now, { final: true });
    return reached === undefined ? { type: 'start', granted: true } : { type: 'limit', reached };
  }

  /** Returns the verdict on the start of a child, which keeps what it is given until `release`. */
  onChild(at: string, own: OwnLimits, now: number): Verdict<LimitChanges> {
    const reached = limitReached(this.#used(), now, { final: false });
    if (reached !== undefined) return { type: 'limit', reached };
    const given = shareOf(this.#state, {
      held: sumOf([this.#sum, this.#inFlight]),
      unreported: this.#unreported,
      lanes: this.lanes - this.#given.size,
      own,
    });
    if (given === undefined) return { type: 'held' };
    this.#keep(at, given);
    return { type: 'start', granted: limitsOf(given) };
  }

  /** Takes back the amounts of a child that has ended. `isUnreported`: what it has used of them is not known. */
  release(at: string, { isUnreported }: { isUnreported: boolean }): void {
    const given = this.#given.get(at);
    if (given === undefined) return;
    this.#given.delete(at);
    this.#sum = sumOf(this.#given.values());
    if (isUnreported && given.size > 0) this.#program.unreported = limitsOf(sumOf([this.#unreported, given]));
  }

  #keep(at: string, given: Amounts): void {
    this.#given.set(at, given);
    this.#sum = sumOf([this.#sum, given]);
  }

  #verdict(reachedBy: (state: RunState) => LimitReached | undefined): Verdict<true> {
    const used = this.#used();
    const reached = reachedBy(used);
    if (reached !== undefined) return { type: 'limit', reached };
    return reachedBy(withMore(used, this.#sum)) === undefined ? { type: 'start', granted: true } : { type: 'held' };
  }

  /** Returns the state of the run with the model calls in flight, and the children whose use is not known. */
  #used(): RunState {
    return withMore(this.#state, sumOf([this.#unreported, this.#inFlight]));
  }

  get #unreported(): Amounts {
    return amountsOf(this.#program.unreported ?? {});
  }

  get #inFlight(): Amounts {
    const { asksInFlight } = this.#program;
    return new Map(asksInFlight === 0 ? [] : [['steps', asksInFlight]]);
  }
}
