// Shared state: the cost of children.

import type { Event } from '../../domain/record/event.ts';
import { addRunUsage } from '../../domain/model/usage.ts';
import type { RunResultFields } from '../../domain/run/result.ts';
import { countToolCalls, type RunState } from './run-state.ts';

/** Adds the steps, the usage and the tool calls of a child that has ended to those of the run, and returns its usage for the event. */
export function spendChild(state: RunState, { stepsUsed, usage, toolCallsByName }: RunResultFields): Pick<Event, 'usage' | 'estimated'> {
  state.context.currentStep += stepsUsed;
  state.usage = addRunUsage(state.usage, usage);
  for (const [name, calls] of Object.entries(toolCallsByName)) {
    const counted = countToolCalls(state, name, calls);
    state.toolCallsStarted.set(counted, (state.toolCallsStarted.get(counted) ?? 0) + calls);
  }
  const { llmCalls: _, estimated, ...reported } = usage;
  return { usage: reported, ...(estimated === undefined ? {} : { estimated }) };
}
