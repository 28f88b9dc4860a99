// Closing: the ways in which a run ends.

import type { ErrorCode } from '../../domain/errors.ts';
import type { LimitReached } from '../../domain/limits.ts';
import { limitStatus } from '../../domain/run.ts';
import type { NextStep } from '../next-step.ts';
import type { RunState } from '../state/run-state.ts';

/** The step of the loop that ends a run. */
type Finish = Extract<NextStep, { type: 'finish' }>;

/** Ends a cancelled run with the best partial answer as output. */
export function endCancelled(state: RunState): Finish {
  return { type: 'finish', ending: { status: 'cancelled', stopReason: 'cancelled', output: partialAnswer(state) } };
}

/** Returns the newest recorded text of the model: of an answer that was given up, or of the last step with a text. */
export function partialAnswer({ partial, thought }: Pick<RunState, 'partial' | 'thought'>): string {
  return partial ?? thought;
}

/** Ends a run with an error. Every recorded step is kept. */
export function endFailed(state: RunState, code: ErrorCode, message: string): Finish {
  return { type: 'finish', ending: { status: 'error', stopReason: 'error', output: state.thought, error: { code, message } } };
}

/**
 * Ends a run at a limit with the thought of the last step as output, if it has one. After a failed final attempt, the output is the
 * best partial answer.
 */
export function endAtLimit(state: RunState, stopReason: LimitReached['stopReason'] = 'step_limit'): Finish {
  const { lastStep } = state;
  const output = lastStep?.final ? state.thought : (lastStep?.thought ?? '');
  return { type: 'finish', ending: { status: limitStatus(stopReason), stopReason, output } };
}
