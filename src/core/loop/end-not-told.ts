// Closing: a failure to tell of the end.

import { noteError, type RunState } from './state/run-state.ts';

/** The worker could not tell for good that the run has ended: whoever looks at the run sees why. */
export function endNotTold(state: RunState, message: string): void {
  noteError(state, `"notifyEnded" could not tell that the run has ended: ${message}`);
}
