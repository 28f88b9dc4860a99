// Programs: blocks, the steps that hold other steps.

import type { StepDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { runBranch } from './branch.ts';
import { runForEach } from './for-each.ts';
import { runParallel } from './parallel.ts';
import { runRepeat } from './repeat.ts';

/** Runs a block. */
export function runBlock(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<StepsEnd> {
  if (step.parallel !== undefined) return runParallel(run, running, step.parallel);
  if (step.branch !== undefined) return runBranch(run, running, step.branch);
  if (step.forEach !== undefined) return runForEach(run, running, step.forEach);
  if (step.repeat !== undefined) return runRepeat(run, running, step.repeat);
  throw new TypeError(`Step "${running.at}" is no block`);
}
