// Programs: steps that are repeated until a condition holds.

import type { RepeatDocument } from '../../../domain/program/document.ts';
import { conditionHolds } from '../../references/condition-holds.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { loadNeeded } from '../outputs/load-outputs.ts';
import { notLoaded } from '../outputs/not-loaded.ts';
import { forgetInside, lookupAt } from '../values.ts';
import { endBlock, outputOfList } from './block-end.ts';

/** Runs rounds of the steps until the condition holds after a round, or the most rounds have run. */
export async function runRepeat(run: ProgramRun, running: RunningStep, block: RepeatDocument): Promise<StepsEnd> {
  const { address, state } = running;
  for (let round = Math.max(0, (state.rounds ?? 0) - 1); ; round += 1) {
    state.rounds = round + 1;
    const indexes = [...address.indexes, round];
    const end = await run.runSteps({ unit: address.unit, steps: block.steps, indexes });
    const isLast = end !== 'completed' || round + 1 >= block.atMost;
    const loading = isLast ? undefined : loadNeeded(run, address, { of: block.until.of });
    const unloaded = loading === undefined ? undefined : await loading;
    if (unloaded !== undefined) return notLoaded(run, running, unloaded);
    if (!isLast && !conditionHolds(block.until, lookupAt(run.program, address))) forgetInside(run.program, { ...address, indexes });
    else return endBlock(run, running, [end], outputOfList(run.program, block.steps, { unit: address.unit, indexes }));
  }
}
