// Programs: lists of steps side by side.

import type { ParallelDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { endBlock, lastOutput } from './block-end.ts';

/** Runs the branches side by side. If one fails, the others still end. */
export async function runParallel(run: ProgramRun, running: RunningStep, { branches }: ParallelDocument): Promise<StepsEnd> {
  const { address } = running;
  run.listsBeside += branches.length - 1;
  const ends = await Promise.all(branches.map((steps) => run.runSteps({ ...address, steps })));
  run.listsBeside -= branches.length - 1;
  return endBlock(run, running, ends, () => branches.map((steps) => lastOutput(run.program, steps, address)));
}
