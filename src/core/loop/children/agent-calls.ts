// Tool phase: the calls of one response that run agents.

import { treeLimitsOf } from '../../children/tree-limits-of.ts';
import type { CallsLeft } from '../../domain/children/calls-left.ts';
import type { RunningAgent } from '../../domain/children/running-agent.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { afterCall, hasHooksAfter } from '../hooks/after-call.ts';
import { agentOf } from './call-of-agent.ts';
import { failure, outcomeOfAgent } from './end-of-agent.ts';
import { isAnswering, noteEndOfTurn, noteTurn } from './kept-agents.ts';
import { type MadeAgent, makeAgent } from './start-of-agent.ts';

type Begin = Extract<MadeAgent, { ok: true }>['begin'];

/** The call of an agent that goes on: the next execution waits for it. */
export interface LeftCall {
  type: 'left';
}

/**
 * The calls of one response that run agents as children. They do not keep a run from continuing as new: those that are alive then are
 * left to the next execution.
 */
export class AgentCalls {
  /** The number of agents that this execution waits for. */
  waiting = 0;
  /** True if this execution has waited for an agent. */
  hasWaited = false;
  /** True once the agents are left to the next execution. */
  isLeaving = false;
  readonly #state: RunState;
  readonly #ports: RunPorts;

  constructor(state: RunState, ports: RunPorts) {
    this.#state = state;
    this.#ports = ports;
  }

  /** True if a further agent must wait until another one ends. */
  get isFull(): boolean {
    return (this.#state.children?.length ?? 0) >= treeLimitsOf(this.#state).alive;
  }

  /** True if a call must wait until its agent has answered another call. */
  isBusy(invocation: ToolInvocation): boolean {
    return isAnswering(this.#state, invocation);
  }

  /** Leaves the agents that are alive to the next execution. */
  leave(): void {
    this.isLeaving = true;
  }

  /** True if an earlier execution has started the agent of a call. */
  isRunning(invocation: ToolInvocation): boolean {
    return agentOf(this.#state, invocation) !== undefined;
  }

  /** Starts the agent of a call, or waits for one that an earlier execution has started. */
  async run(invocation: ToolInvocation, calls: CallsLeft = { all: 1, agents: 1 }): Promise<ToolOutcome | LeftCall> {
    const { agent } = invocation.tool;
    const earlier = agentOf(this.#state, invocation);
    if (earlier !== undefined) return this.#follow(invocation, earlier);
    if (agent === undefined) return failure(invocation, 'is not known');
    const made = makeAgent(this.#state, this.#ports, { invocation, agent, calls });
    if (!made.ok) return failure(invocation, `could not start: ${made.problem}`);
    this.#state.children = [...(this.#state.children ?? []), made.child];
    noteTurn(this.#state, invocation, made.child);
    return this.#follow(invocation, made.child, made.begin);
  }

  async #follow(invocation: ToolInvocation, child: RunningAgent, begin?: Begin): Promise<ToolOutcome | LeftCall> {
    const { inbox } = this.#ports;
    this.waiting += 1;
    this.hasWaited = true;
    const outcome = await this.#ports.runChild({
      runId: child.runId,
      seenAt: child.seenAt,
      of: { eventId: child.eventId, index: child.index },
      ...begin,
      ...(child.turn === undefined ? {} : { turn: child.turn }),
      isLeft: () => this.isLeaving,
      isGivenUp: () => inbox.isInterrupted,
    });
    if (outcome.type === 'left') {
      this.waiting -= 1;
      child.seenAt = outcome.seenAt;
      return outcome;
    }
    this.#forget(child);
    noteEndOfTurn(this.#state, child, outcome);
    // Its id is shown until the record of the step has it.
    const isRun = outcome.type !== 'failed' || !outcome.unstarted;
    const shown = this.#state.endedChildren ?? [];
    if (isRun && !shown.includes(child.runId)) this.#state.endedChildren = [...shown, child.runId];
    const ended = outcomeOfAgent(this.#state, this.#ports, { invocation, child, outcome });
    // Awaited only on demand: in the sandbox every promise costs a stack trace.
    const hooked = hasHooksAfter(this.#state, this.#ports, invocation, ended)
      ? await afterCall(this.#state, this.#ports, invocation, ended)
      : ended;
    this.waiting -= 1;
    return hooked;
  }

  #forget(child: RunningAgent): void {
    const others = (this.#state.children ?? []).filter((one) => one !== child);
    if (others.length === 0) delete this.#state.children;
    else this.#state.children = others;
    this.#ports.inbox.forgetChild(child.runId);
  }
}
