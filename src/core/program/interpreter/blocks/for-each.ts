// Programs: steps for each item of a list.

import { addressText } from '../../state/address.ts';
import { PROGRAM_LIMITS, type ForEachDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import { endStep, type RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { forgetInside, resolveReference } from '../values.ts';
import { endBlock, lastOutput } from './block-end.ts';

/** Runs the steps for each item, a bounded number of items at once. After a failed item no further one begins. */
export async function runForEach(run: ProgramRun, running: RunningStep, block: ForEachDocument): Promise<StepsEnd> {
  const { address, state } = running;
  const list = resolveReference(run.program, block.in, address);
  const problem = listProblem(list);
  if (!Array.isArray(list) || problem !== undefined) {
    const message = `"in" of step "${addressText(address)}" is ${block.in}: ${problem}`;
    const error = { code: 'invalid_input' as const, message, context: { step: address.step, unit: address.unit } };
    endStep(run, running, { status: 'failed', error });
    return 'failed';
  }
  const ends: StepsEnd[] = [];
  const items = (state.items ??= {});
  let next = 0;
  let isEnding = false;
  const runItems = async (): Promise<void> => {
    while (next < list.length && !isEnding) {
      const index = next;
      next += 1;
      if (Object.hasOwn(items, index)) continue;
      const indexes = [...address.indexes, index];
      const end = await run.runSteps({ unit: address.unit, steps: block.steps, indexes });
      if (end === 'completed') {
        items[index] = lastOutput(run.program, block.steps, { unit: address.unit, indexes });
        forgetInside(run.program, { ...address, indexes });
      } else {
        isEnding = true;
        ends.push(end);
      }
    }
  };
  const atOnce = Math.min(block.atOnce ?? PROGRAM_LIMITS.defaultAtOnce, list.length);
  const beside = Math.max(0, atOnce - 1);
  run.listsBeside += beside;
  await Promise.all(Array.from({ length: atOnce }, runItems));
  run.listsBeside -= beside;
  const end = endBlock(run, running, ends, () => list.map((_, index) => items[index] ?? null));
  if (end !== 'stopped') delete state.items;
  return end;
}

function listProblem(list: unknown): string | undefined {
  if (!Array.isArray(list)) return 'that is no list';
  return list.length > PROGRAM_LIMITS.items ? `that has ${list.length} items, over ${PROGRAM_LIMITS.items}` : undefined;
}
