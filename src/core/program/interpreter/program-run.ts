// Programs: the run that the steps of a program share.

import type { Decision, PendingApproval } from '../../domain/approvals/approval.ts';
import type { LimitReached } from '../../domain/agent/limits.ts';
import { settleDecisions, settleRemembered } from '../../loop/approvals/settle-decisions.ts';
import { nearestDeadline, requestDecision, showWaiting, WAITING } from '../../loop/approvals/wait-for-decisions.ts';
import { limitReached } from '../../loop/limits/limits.ts';
import { takeRequests } from '../../loop/messages.ts';
import type { Growth } from '../../loop/ports.ts';
import type { RunState } from '../../loop/state/run-state.ts';
import type { ProgramState } from '../../domain/program/program-state.ts';
import type { StepList, StepsEnd } from './ends.ts';
import type { ProgramPorts } from './program-ports.ts';

/** The reason why no further step starts: steps that are running end first. */
export type Stop =
  | { type: 'cancelled' }
  | { type: 'limit'; reached: LimitReached }
  /** The history of this execution is full. */
  | { type: 'continue' };

/** One activity: three events of its own and three of the workflow task. */
export const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/** A program that is being run: its state, its ports, and the decisions that its steps wait for. */
export class ProgramRun {
  readonly state: RunState;
  readonly program: ProgramState;
  readonly ports: ProgramPorts;
  /** Bytes that the local tool calls in flight may produce. */
  localBytes = 0;
  /** The number of children that steps wait for. */
  children = 0;
  #stop: Stop | undefined;
  /** The steps that wait for a decision, by call id. */
  readonly #waiting = new Map<string, (decision: Decision | undefined) => void>();
  /** The number of approvals that have been requested. */
  #requested = 0;

  readonly #runSteps: (run: ProgramRun, list: StepList) => Promise<StepsEnd>;

  /** `runSteps` runs the steps inside of a block. */
  constructor(
    { state, program, ports }: Pick<ProgramRun, 'state' | 'program' | 'ports'>,
    runSteps: (run: ProgramRun, list: StepList) => Promise<StepsEnd>,
  ) {
    this.#runSteps = runSteps;
    this.state = state;
    this.program = program;
    this.ports = ports;
  }

  /** Runs a list of steps. */
  runSteps(list: StepList): Promise<StepsEnd> {
    return this.#runSteps(this, list);
  }

  /** The reason why no further step starts; undefined if steps may start. */
  get stop(): Stop | undefined {
    if (this.ports.cancelRequested()) this.stopBecause({ type: 'cancelled' });
    return this.#stop;
  }

  /** True once there is such a reason. For conditions, which must not change anything. */
  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  /** True once the run goes on in its next execution. For conditions, which must not change anything. */
  get isContinuing(): boolean {
    return this.#stop?.type === 'continue';
  }

  /** The deadline of the run, in milliseconds since the epoch; Infinity without one. */
  get deadline(): number {
    const { limits, startedAt } = this.state;
    return limits.deadlineMs === undefined ? Infinity : startedAt + limits.deadlineMs;
  }

  /** Lets no further step start, and releases steps that wait for a decision. A cancellation replaces any other reason. */
  stopBecause(stop: Stop): void {
    if (this.#stop === undefined || stop.type === 'cancelled') this.#stop = stop;
    for (const release of this.#waiting.values()) release(undefined);
    this.#waiting.clear();
  }

  /** Waits while the run is paused. Returns true if a step may start: there is room in the history and within the limits. */
  async mayStart(call: 'model' | 'tool' | 'other'): Promise<boolean> {
    const { state, ports } = this;
    takeRequests(state, ports);
    if (ports.inbox.paused) await this.#waitWhilePaused();
    if (this.stop !== undefined) return false;
    const reached = this.#limitReached(call);
    if (reached !== undefined) this.stopBecause({ type: 'limit', reached });
    else if (ports.continueDue(ACTIVITY)) this.stopBecause({ type: 'continue' });
    if (this.#stop !== undefined) return false;
    // Counted at once: other steps ask before this call has begun.
    if (call === 'model') this.program.asksInFlight += 1;
    return true;
  }

  /** Returns the limit that keeps a call from starting. Model calls in flight count as steps. */
  #limitReached(call: 'model' | 'tool' | 'other'): LimitReached | undefined {
    const { state, program, ports } = this;
    const inFlight = call === 'model' ? program.asksInFlight : 0;
    if (inFlight === 0 || call !== 'model') return limitReached(state, ports.now(), { final: call !== 'model' });
    const { context } = state;
    return limitReached({ ...state, context: { ...context, currentStep: context.currentStep + inFlight } }, ports.now(), { final: false });
  }

  async #waitWhilePaused(): Promise<void> {
    const { state, ports } = this;
    while (ports.inbox.paused && this.stop === undefined) {
      if (state.status !== 'paused') {
        state.status = 'paused';
        ports.recorded?.(state);
      }
      if (ports.continueDue(WAITING)) return this.stopBecause({ type: 'continue' });
      const { received } = ports.inbox;
      await ports.until(() => !ports.inbox.paused || ports.inbox.received > received || this.#stop !== undefined);
      takeRequests(state, ports);
    }
    if (state.status === 'paused') state.status = 'running';
    showWaiting(state, ports);
  }

  /**
   * Waits for the decision about a call, which begins to wait unless it does so already or a remembered decision holds.
   * Returns undefined if the run stops first: the call goes on waiting in the next execution.
   */
  async decision(waiting: PendingApproval): Promise<Decision | undefined> {
    const { state, ports } = this;
    const { pending } = state.approvals;
    if (pending.every(({ callId }) => callId !== waiting.callId)) {
      const remembered = settleRemembered(state, ports, waiting);
      if (remembered !== undefined) return remembered;
      requestDecision(state, ports, waiting);
    }
    if (this.stop !== undefined) return undefined;
    this.#requested += 1;
    return new Promise((resolve) => {
      this.#waiting.set(waiting.callId, resolve);
    });
  }

  /** Applies decisions and requests until `isDone`. */
  async attend(isDone: () => boolean): Promise<void> {
    const { state, ports } = this;
    while (!isDone() && this.stop?.type !== 'cancelled') {
      const { received } = ports.inbox;
      const requested = this.#requested;
      takeRequests(state, ports);
      for (const decision of await settleDecisions(state, ports)) this.#decide(decision);
      if (!ports.inbox.paused) showWaiting(state, ports);
      const isWaiting = state.approvals.pending.length > 0;
      if (isWaiting && this.#stop === undefined) {
        const reached = limitReached(state, ports.now(), { final: true });
        if (reached !== undefined) this.stopBecause({ type: 'limit', reached });
      }
      // A child may run for days. Calls in flight belong to this execution: a step continues the run once they have ended.
      const isIdle = isWaiting || (this.children > 0 && this.program.asksInFlight === 0);
      if (isIdle && this.#stop === undefined && ports.continueDue(WAITING)) this.stopBecause({ type: 'continue' });
      const stop = this.#stop;
      await ports.until(
        () => isDone() || ports.inbox.received > received || this.#requested > requested || this.#stop !== stop,
        isWaiting && stop === undefined ? nearestDeadline(state, ports.now()) : undefined,
      );
    }
  }

  #decide(decision: Decision): void {
    const release = this.#waiting.get(decision.callId);
    this.#waiting.delete(decision.callId);
    release?.(decision);
  }
}
