// Shared state: the entries that a model call is given from the memory of the agent.

import { type Recalled, recallEvent } from '../../domain/memory/recalled.ts';
import type { RunClock } from './clock.ts';
import { recordEvent, type RunState } from './run-state.ts';

/** True if the next model call asks the memory. It stays true until a response is recorded: a call without one has recalled in vain. */
export function recallDue(state: RunState): boolean {
  return state.recallDue === true;
}

/**
 * Records what the memory gave to a model call, before the response to it: later calls find it at the place at which this one has read
 * it. Nothing is recorded if the memory had nothing.
 */
export function recordRecall(state: RunState, clock: RunClock, recalled: Recalled | undefined): void {
  delete state.recallDue;
  if (recalled !== undefined) recordEvent(state, clock, recallEvent(recalled));
}
