// Programs: lists of steps side by side.

import type { ParallelDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { endBlock, lastAddress, lastOutput } from './block-end.ts';

/** Runs the branches side by side. If one fails, the others still end. */
export async function runParallel(run: ProgramRun, running: RunningStep, { branches }: ParallelDocument): Promise<StepsEnd> {
  const { address } = running;
  const ends = await run.budget.sideBySide(branches.map((steps) => () => run.runSteps({ ...address, steps })));
  return endBlock(run, running, ends, {
    of: branches.flatMap((steps) => lastAddress(steps, address)),
    make: () => branches.map((steps) => lastOutput(run.program, steps, address)),
  });
}
