// Programs: the steps that wait until the limits let them start.

import { type Decision, type PendingApproval, RAISE_LIMITS } from '../../domain/approvals.ts';
import type { LimitChanges, LimitReached, RunLimits } from '../../domain/limits.ts';
import { limitApproval, requestDecision } from '../../loop/approvals.ts';
import { raisable, raised } from '../../loop/limits.ts';
import type { RunPorts } from '../../loop/ports.ts';
import type { RunState } from '../../loop/state/run-state.ts';

/** The verdict on a step that wants to start. `held`: children hold what it needs, and may give it back. */
export type Verdict<Granted> = { type: 'start'; granted: Granted } | { type: 'held' } | { type: 'limit'; reached: LimitReached };

/**
 * The steps that wait for room within the limits: until a child gives back what it has not used, or until a person has raised
 * the limit. However many steps wait at a limit, one approval is requested.
 */
export class Admission {
  readonly #state: RunState;
  readonly #ports: RunPorts;
  /** Grows when a step that waits may find room. */
  #turn = 0;
  /** Grows when the steps that wait at a limit have changed. */
  changes = 0;
  /** The limit at which each waiting step waits; undefined until the step has looked again. */
  readonly #atLimit = new Map<object, LimitReached | undefined>();
  /** The steps that wait to start a child, in their order. */
  readonly #children: object[] = [];
  /** A person has refused to raise a limit. */
  #isRefused = false;
  /** The limits that the waiting steps have seen. */
  #limits: RunLimits;

  constructor(state: RunState, ports: RunPorts) {
    this.#state = state;
    this.#ports = ports;
    this.#limits = state.limits;
  }

  /** The limit at which the first of the waiting steps waits. */
  get reached(): LimitReached | undefined {
    return [...this.#atLimit.values()].find((one) => one !== undefined);
  }

  /** True if a person is asked at limits, and has not refused to raise one. */
  get #isAsked(): boolean {
    return this.#state.limits.onLimit === 'ask' && !this.#isRefused;
  }

  /** Lets the waiting steps look again: a child or a call has ended. */
  lookAgain(): void {
    this.#turn += 1;
  }

  /**
   * Waits until `verdict` lets the step start. Children start in the order in which they came, so that a small one does not
   * keep a large one waiting. Returns the limit if no person is asked about it, and undefined once the step is not `ready`.
   */
  async wait<Granted>(
    verdict: () => Verdict<Granted>,
    { isChild, isOver, ready }: { isChild: boolean; isOver: () => boolean; ready: () => Promise<boolean> },
  ): Promise<Exclude<Verdict<Granted>, { type: 'held' }> | undefined> {
    const step = {};
    let isLeftWaiting = false;
    if (isChild) this.#children.push(step);
    try {
      for (;;) {
        isLeftWaiting = !(await ready());
        if (isLeftWaiting) return undefined;
        const turn = this.#turn;
        const found: Verdict<Granted> = isChild && this.#children[0] !== step ? { type: 'held' } : verdict();
        if (found.type === 'start' && isChild && this.#atLimit.size === 0) this.#dropRequest();
        if (found.type === 'start') return found;
        const raise = found.type === 'limit' && this.#isAsked ? raisable(this.#state, found.reached) : undefined;
        if (found.type === 'limit' && raise === undefined) return found;
        this.#note(step, raise);
        await this.#ports.until(() => this.#turn > turn || isOver());
      }
    } finally {
      this.#leave(step, isLeftWaiting);
    }
  }

  #note(step: object, reached: LimitReached | undefined): void {
    if (reached === undefined) this.#atLimit.delete(step);
    else this.#atLimit.set(step, reached);
    this.changes += 1;
  }

  /** Removes a step. A request outlives a step that is left waiting: a decision about it may be on its way. */
  #leave(step: object, isLeftWaiting: boolean): void {
    const place = this.#children.indexOf(step);
    if (place >= 0) this.#children.splice(place, 1);
    const wasAtLimit = this.#atLimit.delete(step);
    if (wasAtLimit && !isLeftWaiting && this.#atLimit.size === 0) this.#dropRequest();
    if (wasAtLimit) this.changes += 1;
    if (place >= 0 && this.#children.length > 0) this.#turn += 1;
  }

  /** Applies a decision about a limit. Returns the limit that ends the run if it was rejected and a step waits there already. */
  decide(decision: Decision): LimitReached | undefined {
    if (decision.type === 'reject') {
      this.#isRefused = true;
      return this.reached;
    }
    this.#state.limits = raised(this.#state.limits, decision.arguments as LimitChanges);
    return undefined;
  }

  /** Requests an approval if steps wait at a limit; lets them look again once the limits have changed. */
  settle(): void {
    const { limits, approvals } = this.#state;
    if (limits !== this.#limits) {
      this.#limits = limits;
      this.#isRefused = false;
      if (this.#atLimit.size === 0) this.#dropRequest();
      for (const step of this.#atLimit.keys()) this.#atLimit.set(step, undefined);
      this.#turn += 1;
      return;
    }
    const limitsReached = [...this.#atLimit.values()];
    const [first] = limitsReached;
    // A step that has not looked again yet may find that the limit no longer holds.
    if (first === undefined || limitsReached.includes(undefined)) return;
    const requested = approvals.pending.find(isLimit);
    if (requested !== undefined && limitsReached.some((one) => isAbout(requested, one))) return;
    this.#dropRequest();
    requestDecision(this.#state, this.#ports, limitApproval(this.#state, this.#ports, first));
  }

  #dropRequest(): void {
    const { approvals } = this.#state;
    approvals.pending = approvals.pending.filter((one) => !isLimit(one));
  }
}

/** True for an approval that raises the limit. The amount that is used may have grown since it was requested. */
function isAbout({ proposal = {} }: PendingApproval, reached: LimitReached | undefined): boolean {
  return Object.keys(reached?.proposal ?? {}).some((name) => Object.hasOwn(proposal, name));
}

function isLimit({ toolName }: { toolName: string }): boolean {
  return toolName === RAISE_LIMITS;
}
