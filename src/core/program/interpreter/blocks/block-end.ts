// Programs: the end of a block.

import type { JsonValue } from '../../../domain/json/json.ts';
import type { StepDocument } from '../../../domain/program/document.ts';
import type { StepError } from '../../../domain/program/step-error.ts';
import { indexOf } from '../../state/program-index.ts';
import { addressText, type StepAddress } from '../../state/address.ts';
import type { ProgramState } from '../../../domain/program/program-state.ts';
import type { ProgramRun } from '../program-run.ts';
import { endStep, type RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';

/** Returns the output of the last step of a list; null if the list is empty or the step was skipped. */
export function lastOutput(
  { steps }: ProgramState,
  list: readonly StepDocument[],
  { unit, indexes }: Omit<StepAddress, 'step'>,
): JsonValue {
  const last = list.at(-1);
  return last === undefined ? null : (steps.get(addressText({ unit, step: last.name, indexes }))?.output ?? null);
}

/** Ends a block after the lists inside: it completes with an output, or fails with the first step inside that failed. */
export function endBlock(run: ProgramRun, running: RunningStep, ends: readonly StepsEnd[], output: () => JsonValue): StepsEnd {
  // A step that failed is final, also if others were stopped.
  if (ends.includes('failed')) {
    const failed = firstFailure(run.program, running.address);
    endStep(run, running, { status: 'failed', ...(failed === undefined ? {} : { error: failed }) });
    return 'failed';
  }
  if (ends.includes('stopped')) return 'stopped';
  endStep(run, running, { status: 'completed', output: output(), outputId: run.ports.uuid() });
  return 'completed';
}

/** Returns the error of the first step inside of a block that has one. */
function firstFailure({ steps, document }: ProgramState, { unit, step, indexes }: StepAddress): StepError | undefined {
  const { inside } = indexOf(document).get(unit, step);
  for (const name of inside) {
    const prefix = addressText({ unit, step: name, indexes });
    for (const [at, state] of steps) {
      if (state.status === 'failed' && (at === prefix || at.startsWith(`${prefix}[`))) return state.error;
    }
  }
  return undefined;
}
