import { recallEvent } from '../domain/memory.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { TRUE } from '../domain/shape.ts';
import type { Capability } from '../kernel/capability.ts';
import type { RunPorts } from '../kernel/ports.ts';
import { recordEvent, type RunState, slice } from '../kernel/run-state.ts';

// Capability: what a model call is given from the memory of its agent.

/** Present while the next model call asks the memory. It stays until a response is recorded: a call without one has recalled in vain. */
const due = slice<true>('recallDue', TRUE, { initial: ({ memory }) => (memory?.recall === undefined ? undefined : true) });

/** Lets the next model call ask the memory, if the agent that acts recalls. */
function begin(state: RunState): void {
  if (state.snapshot.memory?.recall === undefined) due.clear(state);
  else due.set(state, true);
}

/**
 * Records what the memory gave to a model call, before the response to it: later calls find it at the place at which this one has read
 * it. Nothing is recorded if the memory had nothing.
 */
function recordRecalled(state: RunState, ports: RunPorts, response: RecordedResponse): RecordedResponse {
  due.clear(state);
  const { recalled, ...left } = response;
  if (recalled === undefined) return response;
  recordEvent(state, ports, recallEvent(recalled));
  return left;
}

export const recall: Capability = {
  name: 'recall',
  slices: [due],
  // A conversation that was too long has no room for more.
  // The memory belongs to the principal: the activity asks the run for it, so that the history does not name the principal again.
  modelCallInput: (state, { shortened }) =>
    due.of(state) && !shortened ? { recall: true, ...(state.principal === undefined ? {} : { principal: true }) } : {},
  responseArrives: recordRecalled,
  turnBegins: begin,
  agentRefreshed: begin,
  agentSwitched(state, isFirst) {
    if (isFirst) begin(state);
    else due.clear(state);
  },
};
