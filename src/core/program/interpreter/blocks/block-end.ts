// Programs: the end of a block.

import type { JsonValue } from '../../../domain/json/json.ts';
import type { StepDocument } from '../../../domain/program/document.ts';
import type { StepError } from '../../../domain/program/step-error.ts';
import { namedOutputs } from '../../state/needed-outputs.ts';
import { indexOf } from '../../state/program-index.ts';
import { addressText, type StepAddress } from '../../state/address.ts';
import type { ProgramState } from '../../../domain/program/program-state.ts';
import type { ProgramRun } from '../program-run.ts';
import { endStep, type RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { loadOutputs } from '../outputs/load-outputs.ts';
import { notLoaded } from '../outputs/not-loaded.ts';

/** Returns the output of the last step of a list; null if the list is empty or the step was skipped. */
export function lastOutput(program: ProgramState, list: readonly StepDocument[], at: Omit<StepAddress, 'step'>): JsonValue {
  const [last] = lastAddress(list, at);
  return last === undefined ? null : (program.steps.get(last)?.output ?? null);
}

/** Returns the output of a block that is that of the last step of the list that it has run. */
export function outputOfList(program: ProgramState, list: readonly StepDocument[], at: Omit<StepAddress, 'step'>): BlockOutput {
  return { of: lastAddress(list, at), make: () => lastOutput(program, list, at) };
}

/** Returns the address of the last step of a list; none if the list is empty. */
export function lastAddress(list: readonly StepDocument[], { unit, indexes }: Omit<StepAddress, 'step'>): string[] {
  const last = list.at(-1);
  return last === undefined ? [] : [addressText({ unit, step: last.name, indexes })];
}

/** The output of a block. */
export interface BlockOutput {
  /** The addresses of the steps whose outputs it consists of. */
  of: readonly string[];
  /** Makes it once the run has these. */
  make: () => JsonValue;
}

/** Ends a block after the lists inside: it completes with an output, or fails with the first step inside that failed. */
export async function endBlock(run: ProgramRun, running: RunningStep, ends: readonly StepsEnd[], output: BlockOutput): Promise<StepsEnd> {
  // A step that failed is final, also if others were stopped.
  if (ends.includes('failed')) {
    const failed = firstFailure(run.program, running.address);
    endStep(run, running, { status: 'failed', ...(failed === undefined ? {} : { error: failed }) });
    return 'failed';
  }
  if (ends.includes('stopped')) return 'stopped';
  const { unit, step } = running.address;
  const outputId = run.ports.uuid();
  if (!namedOutputs(run.program.document).has(`${unit}.${step}`) && output.of.some((at) => isOnlyStored(run.program, at))) {
    endStep(run, running, { status: 'completed', outputForgotten: true, outputId });
    return 'completed';
  }
  const loading = loadOutputs(run, running.address, output.of);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return notLoaded(run, running, unloaded);
  endStep(run, running, { status: 'completed', output: output.make(), outputId });
  return 'completed';
}

/** True for an output that the run would have to load. */
function isOnlyStored({ steps }: ProgramState, address: string): boolean {
  const { output, spilled } = steps.get(address) ?? {};
  return output === undefined && spilled !== undefined;
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
