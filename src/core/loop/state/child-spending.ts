// Shared state: the cost of children.

import { addRunUsage, withChild } from '../../domain/usage.ts';
import type { Event } from '../../domain/record.ts';
import { addNotRun } from '../../domain/tool-calls.ts';
import type { RunResultFields } from '../../domain/result.ts';
import { countToolCalls, type RunState } from './run-state.ts';

/** The name under which a program counts the tool calls of the agents that its own agents have called. */
const CALLS_BELOW = '(below)';

/**
 * Adds the steps, the usage and the tool calls of a child that has ended to those of a program, with those of the runs below it, and
 * returns its usage for the event. An agent counts what its children have used apart from its own use.
 */
export function spendChild(state: RunState, child: RunResultFields): Pick<Event, 'usage' | 'estimated'> {
  const { stepsUsed, toolCallsByName, toolCallsNotRun, below } = child;
  if (state.program === undefined) {
    state.below = withChild(state.below, child);
    return {};
  }
  const usage = below === undefined ? child.usage : addRunUsage(child.usage, below.usage);
  // The steps of a program are the model calls of all runs below it.
  state.context.currentStep += stepsUsed + (below?.usage.llmCalls ?? 0);
  state.usage = addRunUsage(state.usage, usage);
  const ofBelow = below === undefined || below.toolCalls === 0 ? {} : { [CALLS_BELOW]: below.toolCalls };
  for (const [name, calls] of Object.entries({ ...toolCallsByName, ...ofBelow })) {
    const counted = countToolCalls(state, name, calls);
    state.toolCallsStarted.set(counted, (state.toolCallsStarted.get(counted) ?? 0) + calls);
  }
  const notRun = addNotRun(state.toolCallsNotRun, toolCallsNotRun);
  if (notRun !== undefined) state.toolCallsNotRun = notRun;
  const { llmCalls: _, estimated, ...reported } = usage;
  return { usage: reported, ...(estimated === undefined ? {} : { estimated }) };
}
