import { recallEvent } from '../domain/memory.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { TRUE } from '../domain/shape.ts';
import type { Capability } from '../kernel/capability.ts';
import type { RunPorts } from '../kernel/ports.ts';
import { recordEvent, type RunState, slice } from '../kernel/run-state.ts';

// Capability: the entries that a model call receives from its agent's memory.

/**
 * Present while the next model call queries the memory. It stays until a response is recorded: a call without a response has recalled in
 * vain.
 */
const due = slice<true>('recallDue', TRUE, { initial: ({ memory }) => (memory?.recall === undefined ? undefined : true) });

/** Makes the next model call query the memory, if the current agent recalls. */
function begin(state: RunState): void {
  if (state.snapshot.memory?.recall === undefined) due.clear(state);
  else due.set(state, true);
}

/**
 * Records the entries that the memory gave to a model call, before its response, so that later calls read them in the same place. Records
 * nothing if the memory had no entries.
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
  // A conversation that was too long has no room for memories.
  // The memory belongs to the principal: the activity queries the run for it, so that the history does not repeat the principal.
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
