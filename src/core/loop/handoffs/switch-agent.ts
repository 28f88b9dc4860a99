// Tool phase: the change of the agent after a step with a transfer.

import { PINNED_SNAPSHOTS } from '../../domain/handoffs/handoff-state.ts';
import type { RunLimits } from '../../domain/agent/limits.ts';
import { newest } from '../../domain/json/newest.ts';
import { noUsage } from '../../domain/model/usage.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/** Hands the run over if one of the calls of a step has transferred it. */
export function handOver(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
  if (outcomes.some((outcome) => outcome?.type === 'result' && outcome.transferTo !== undefined)) switchAgent(state, ports);
}

/**
 * Lets the agent act that takes over: its instructions, tools and answers count from here on, over the same window. The limits stay
 * those of the run; limits of single tools are added on the first turn of an agent, and never widen any.
 */
export function switchAgent(state: RunState, ports: RunPorts): void {
  const { handoffs, snapshot: before } = state;
  const next = handoffs?.next;
  if (handoffs === undefined || next === undefined) return;
  delete handoffs.next;
  handoffs.count += 1;
  handoffs.pinned = newest([...handoffs.pinned.filter(({ name }) => name !== next.name), before], PINNED_SNAPSHOTS);
  if (!handoffs.usage.some(([name]) => name === next.name)) {
    handoffs.usage.push([next.name, noUsage()]);
    state.limits = narrowedByTool(state.limits, next.limits);
  }
  state.snapshot = next;
  state.outputRetries = 0;
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
