// Closing: the ways in which a run ends.

import type { ErrorCode } from '../domain/errors/error.ts';
import type { LimitReached } from '../domain/agent/limits.ts';
import type { NextStep } from './next-step.ts';
import type { RunState } from './state/run-state.ts';

/** The end of a run. */
type Finish = Extract<NextStep, { type: 'finish' }>;

/** The run ends because it was cancelled; the output is the best partial answer. */
export function endCancelled(state: RunState): Finish {
  return { type: 'finish', ending: { status: 'cancelled', stopReason: 'cancelled', output: partialAnswer(state) } };
}

/** The newest text of the model that is recorded: of an answer that was given up, or of the last step that had one. */
export function partialAnswer({ partial, thought }: Pick<RunState, 'partial' | 'thought'>): string {
  return partial ?? thought;
}

/** The run ends with an error; every recorded step is kept. */
export function endFailed(state: RunState, code: ErrorCode, message: string): Finish {
  return { type: 'finish', ending: { status: 'error', stopReason: 'error', output: state.thought, error: { code, message } } };
}

/** A limit ends the run; the output is the thought of the last step, if any. A final attempt that fails leaves the best partial answer. */
export function endAtLimit(state: RunState, stopReason: LimitReached['stopReason'] = 'step_limit'): Finish {
  const { lastStep } = state;
  const output = lastStep?.final ? state.thought : (lastStep?.thought ?? '');
  return { type: 'finish', ending: { status: 'max_iterations_reached', stopReason, output } };
}
