import type { ErrorCode } from '../domain/error.ts';
import type { NextStep } from './next-step.ts';
import { lastThought, type RunState } from './run-state.ts';

/** The run ends because it was cancelled; the output is the best partial answer. */
export function cancelled(state: RunState): NextStep {
  return { type: 'finish', ending: { status: 'cancelled', stopReason: 'cancelled', output: lastThought(state) } };
}

/** The run ends with an error; every recorded step is kept. */
export function failed(state: RunState, code: ErrorCode, message: string): NextStep {
  return { type: 'finish', ending: { status: 'error', stopReason: 'error', output: lastThought(state), error: { code, message } } };
}

/** The step limit ends the run; the output is the thought of the last step, if any (seed 001). A final attempt that fails leaves the best partial answer. */
export function reachedLimit(state: RunState): NextStep {
  const last = state.steps.at(-1);
  const output = last?.final ? lastThought(state) : (last?.thought ?? '');
  return { type: 'finish', ending: { status: 'max_iterations_reached', stopReason: 'step_limit', output } };
}
