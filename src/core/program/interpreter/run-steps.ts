// Programs: steps in their order.

import { conditionHolds } from '../references/condition-holds.ts';
import { isBlock, type StepDocument } from '../../domain/program/document.ts';
import { addressText } from '../state/address.ts';
import { runBlock } from './blocks/run-block.ts';
import type { StepList, StepsEnd } from './ends.ts';
import { loadForRun } from './outputs/load-for-run.ts';
import { loadNeeded } from './outputs/load-outputs.ts';
import { neededBefore } from './outputs/needed-values.ts';
import { notLoaded } from './outputs/not-loaded.ts';
import type { ProgramRun } from './program-run.ts';
import { beginStep, endStep } from './record.ts';
import { reuse } from './reuse.ts';
import { runAttempts } from './run-attempts.ts';
import { lookupAt } from './values.ts';

/** Runs steps one after the other, up to the first that fails. Steps that have ended in an earlier execution are passed over. */
export async function runSteps(run: ProgramRun, { unit, steps, indexes }: StepList): Promise<StepsEnd> {
  for (const step of steps) {
    const end = await runStep(run, { unit, step, indexes });
    if (end !== 'completed') return end;
  }
  return 'completed';
}

/** One step of a list. */
interface ListedStep {
  unit: string;
  step: StepDocument;
  indexes: readonly number[];
}

/** Runs one step. A step that is skipped counts as completed: the steps after it run. */
export async function runStep(run: ProgramRun, { unit, step, indexes }: ListedStep): Promise<StepsEnd> {
  const address = { unit, step: step.name, indexes };
  const known = run.program.steps.get(addressText(address));
  if (known?.status === 'failed') return 'failed';
  if (known?.status === 'completed' || known?.status === 'skipped') return 'completed';
  // A child that is running is waited for also if the run stops.
  const mayHoldChild = known !== undefined && (isBlock(step) || known.progress?.child !== undefined);
  if (run.stop !== undefined && !mayHoldChild) return 'stopped';
  const turn = mayHoldChild ? undefined : run.turns.next(run);
  if (turn !== undefined && !(await turn)) return 'stopped';
  const running = beginStep(run, address);
  if (running.state.attempts === 0) {
    const before = loadNeeded(run, address, neededBefore(run.program, address, step));
    const unloaded = before === undefined ? undefined : await before;
    if (unloaded !== undefined) return notLoaded(run, running, unloaded);
    if (step.when !== undefined && !conditionHolds(step.when, lookupAt(run.program, address))) {
      endStep(run, running, { status: 'skipped', reason: `the condition on "${step.when.of}" does not hold` });
      return 'completed';
    }
    if (reuse(run, running)) return 'completed';
  }
  if (!isBlock(step)) return runAttempts(run, running, step);
  const loading = loadForRun(run, running, step);
  const unloaded = loading === undefined ? undefined : await loading;
  return unloaded === undefined ? runBlock(run, running, step) : notLoaded(run, running, unloaded);
}
