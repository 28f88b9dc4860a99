// Programs: steps for each item of a list.

import { addressText } from '../../state/address.ts';
import { PROGRAM_LIMITS, type ForEachDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import { endStep, type RunningStep } from '../record.ts';
import type { StepsEnd } from '../ends.ts';
import { forgetInside, resolveReference } from '../values.ts';
import { loadItems, itemsThatEnded } from '../outputs/load-items.ts';
import { loadOutputs, type NotLoaded } from '../outputs/load-outputs.ts';
import { notLoaded } from '../outputs/not-loaded.ts';
import { endBlock, lastAddress, lastOutput } from './block-end.ts';

/** Runs the steps for each item, a bounded number of items at once. After a failed item no further one begins. */
export async function runForEach(run: ProgramRun, running: RunningStep, block: ForEachDocument): Promise<StepsEnd> {
  const { address, state } = running;
  const list = resolveReference(run.program, block.in, address);
  const fault = listProblem(list);
  if (!Array.isArray(list) || fault !== undefined) {
    const message = `"in" of step "${addressText(address)}" is ${block.in}: ${fault}`;
    const error = { code: 'invalid_input' as const, message, context: { step: address.step, unit: address.unit } };
    endStep(run, running, { status: 'failed', error });
    return 'failed';
  }
  const ends: StepsEnd[] = [];
  const problems: NotLoaded[] = [];
  const isDone = itemsThatEnded(state);
  let next = 0;
  const runItems = async (): Promise<void> => {
    while (next < list.length && ends.length === 0 && problems.length === 0) {
      const index = next;
      next += 1;
      if (isDone(index)) continue;
      const indexes = [...address.indexes, index];
      const end = await run.runSteps({ unit: address.unit, steps: block.steps, indexes });
      if (end !== 'completed') ends.push(end);
      else problems.push(...(await endItem(run, running, block, index)));
    }
  };
  const atOnce = Math.min(block.atOnce ?? PROGRAM_LIMITS.defaultAtOnce, list.length);
  await run.budget.sideBySide(Array.from({ length: atOnce }, () => runItems));
  if (ends.length === 0 && problems.length === 0) problems.push(...(await loadItems(run, running)));
  const problem = problems.find(({ type }) => type === 'failed') ?? problems[0];
  if (ends.length === 0 && problem !== undefined) return notLoaded(run, running, problem);
  const items = state.items ?? {};
  const end = await endBlock(run, running, ends, { of: [], make: () => list.map((_, index) => items[index] ?? null) });
  if (end === 'stopped') return end;
  delete state.items;
  delete state.spilledItems;
  return end;
}

/** Keeps the output of an item whose steps have ended, and forgets these. Returns the reason why that is not possible. */
async function endItem(run: ProgramRun, { address, state }: RunningStep, { steps }: ForEachDocument, index: number): Promise<NotLoaded[]> {
  const at = { unit: address.unit, indexes: [...address.indexes, index] };
  const loading = loadOutputs(run, address, lastAddress(steps, at));
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return [unloaded];
  (state.items ??= {})[index] = lastOutput(run.program, steps, at);
  forgetInside(run.program, { ...address, indexes: at.indexes });
  return [];
}

function listProblem(list: unknown): string | undefined {
  if (!Array.isArray(list)) return 'that is no list';
  return list.length > PROGRAM_LIMITS.items ? `that has ${list.length} items, over ${PROGRAM_LIMITS.items}` : undefined;
}
