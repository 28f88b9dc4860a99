// Programs: the outputs that a step needs before it acts.

import type { StepDocument } from '../../../domain/program-document.ts';
import { indexOf } from '../../state/program-index.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import { loadNeeded, type NotLoaded } from './load-outputs.ts';
import { neededByRun } from './needed-values.ts';

/** Loads the outputs that the run resolves for a step, in its present position. Returns at once if there is nothing to load. */
export function loadForRun(
  run: ProgramRun,
  { address, state }: RunningStep,
  step: StepDocument,
): Promise<NotLoaded | undefined> | undefined {
  const { unit } = indexOf(run.program.document).get(address.unit, address.step);
  return loadNeeded(run, address, neededByRun(unit, step, state.progress));
}
