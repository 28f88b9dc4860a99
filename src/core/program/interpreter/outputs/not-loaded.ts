// Programs: steps that lack a stored output.

import type { StepsEnd } from '../ends.ts';
import type { ProgramRun } from '../program-run.ts';
import { endStep, type RunningStep } from '../record.ts';
import type { NotLoaded } from './load-outputs.ts';

/** Ends a step that needs an output which could not be loaded, unless the run stops: then the next execution loads it. */
export function notLoaded(run: ProgramRun, running: RunningStep, problem: NotLoaded): StepsEnd {
  if (problem.type === 'stopped') return 'stopped';
  endStep(run, running, { status: 'failed', error: problem.error });
  return 'failed';
}
