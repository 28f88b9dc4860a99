// Programs: the choice between lists of steps.

import type { BranchDocument, StepDocument } from '../../../domain/program/document.ts';
import { conditionHolds } from '../../references/condition-holds.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { lookupAt } from '../values.ts';
import { endBlock, outputOfList } from './block-end.ts';

const ELSE = -1;

/** Runs the first case whose condition holds, else `else`. The choice is made once. */
export async function runBranch(run: ProgramRun, running: RunningStep, block: BranchDocument): Promise<StepsEnd> {
  const { address, state } = running;
  const lookup = lookupAt(run.program, address);
  const taken = state.progress?.taken ?? block.cases.findIndex(({ when }) => conditionHolds(when, lookup));
  state.progress = { taken };
  const steps: readonly StepDocument[] = (taken === ELSE ? block.else : block.cases[taken]?.steps) ?? [];
  const end = await run.runSteps({ ...address, steps });
  return endBlock(run, running, [end], outputOfList(run.program, steps, address));
}
