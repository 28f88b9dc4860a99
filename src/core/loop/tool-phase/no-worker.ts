// Tool phase: calls that no worker could make.

import type { NextStep } from '../next-step.ts';
import { endFailed } from '../endings/endings.ts';
import type { ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/** The reason to end the run if no worker could make a call; undefined if there is no such call. */
export function noWorker(outcomes: readonly (ToolOutcome | null)[]): (ToolOutcome & { type: 'result' })['noWorker'] {
  const found = outcomes.find((outcome) => outcome?.type === 'result' && outcome.noWorker !== undefined);
  return found?.type === 'result' ? found.noWorker : undefined;
}

/** The end of a run with a call that no worker could make; undefined if there is none. */
export function endedByNoWorker(state: RunState, outcomes: readonly (ToolOutcome | null)[]): NextStep | undefined {
  const why = noWorker(outcomes);
  return why === undefined ? undefined : endFailed(state, why.code, why.message);
}
