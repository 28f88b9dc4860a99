// Tool phase: the change of the agent after a step with a transfer.

import { PINNED_SNAPSHOTS } from '../../domain/handoffs.ts';
import type { AgentSnapshot } from '../../domain/agent.ts';
import type { RunLimits } from '../../domain/limits.ts';
import { newest } from '../../domain/byte-budgets.ts';
import { noUsage } from '../../domain/usage.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import { beginRecall, recordNotices, type RunState } from '../state/run-state.ts';

/** Hands the run over if one of the calls of a step has transferred it. */
export function handOver(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
  const { handoffs } = state;
  const next = handoffs?.next;
  const isTransferred = outcomes.some((outcome) => outcome?.type === 'result' && outcome.transferTo !== undefined);
  if (handoffs === undefined || next === undefined || !isTransferred) return;
  const { notices } = handoffs;
  delete handoffs.next;
  delete handoffs.notices;
  handoffs.count += 1;
  switchAgent(state, ports, next);
  recordNotices(state, ports, notices);
}

/**
 * Lets the agent act that takes over: its instructions, tools and answers count from here on, over the same window. The limits stay
 * those of the run; limits of single tools are added on the first turn of an agent, and never widen any.
 */
export function switchAgent(state: RunState, ports: RunPorts, next: AgentSnapshot): void {
  const { handoffs, snapshot: before, session } = state;
  state.outputRetries = 0;
  if (handoffs === undefined || next.name === before.name) return;
  handoffs.pinned = newest([...handoffs.pinned.filter(({ name }) => name !== next.name), before], PINNED_SNAPSHOTS);
  const isFirstTurn = !handoffs.usage.some(([name]) => name === next.name);
  if (isFirstTurn) {
    handoffs.usage.push([next.name, noUsage()]);
    state.limits = narrowedByTool(state.limits, next.limits);
    if (session?.unraised !== undefined) session.unraised = narrowedByTool(session.unraised, next.limits);
  }
  state.snapshot = next;
  if (isFirstTurn) beginRecall(state);
  else delete state.recallDue;
  // The provider counted the tokens of another request; names and values of code belong to the agent that ran it.
  delete state.measured;
  delete state.code;
  ports.switchAgent(next);
}

/** Adds the limits of single tools of an agent, the lower one if both have it. */
function narrowedByTool(limits: RunLimits, { toolCallsByName = {} }: RunLimits): RunLimits {
  const names = Object.keys(toolCallsByName);
  if (names.length === 0) return limits;
  const known = new Map(Object.entries(limits.toolCallsByName ?? {}));
  for (const [name, most] of Object.entries(toolCallsByName)) known.set(name, Math.min(most, known.get(name) ?? Infinity));
  return { ...limits, toolCallsByName: Object.fromEntries(known) };
}
