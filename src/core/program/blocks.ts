import { defined, isJsonObject, type JsonValue } from '../domain/json.ts';
import {
  type BranchDocument,
  type ForEachDocument,
  type ParallelDocument,
  PROGRAM_LIMITS,
  type RepeatDocument,
  type StepDocument,
} from '../domain/program-document.ts';
import type { ProgramState, StepState } from '../domain/program-run.ts';
import type { StepError } from '../domain/verdicts.ts';
import { addressText, indexOf, type StepAddress } from './program-index.ts';
import { endStep, type ProgramRun, type RunningStep, type StepsEnd } from './program-run.ts';
import { conditionHolds, forgetInside, lookupAt, resolveReference } from './references.ts';
import { reusableItems, reuseItem, roundsBefore } from './reuse.ts';
import { loadStored, type NotLoaded } from './loads.ts';
import { forgetItem, ITEMS_SUFFIX, loadNeeded, loadOutputs, namedOutputs } from './stored-outputs.ts';

/** Runs a step that contains other steps: parallel lists, a choice between lists, rounds of a list, or a list for each item. */
export function runBlock(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<StepsEnd> {
  if (step.parallel !== undefined) return runParallel(run, running, step.parallel);
  if (step.branch !== undefined) return runBranch(run, running, step.branch);
  if (step.forEach !== undefined) return runForEach(run, running, step.forEach);
  if (step.repeat !== undefined) return runRepeat(run, running, step.repeat);
  throw new TypeError(`Step "${running.at}" is not a block`);
}

/** Runs the branches in parallel. If one fails, the others still end. */
async function runParallel(run: ProgramRun, running: RunningStep, { branches }: ParallelDocument): Promise<StepsEnd> {
  const { address } = running;
  const ends = await run.budget.sideBySide(branches.map((steps) => () => run.runSteps({ ...address, steps })));
  return endBlock(run, running, ends, {
    of: branches.flatMap((steps) => lastAddress(steps, address)),
    make: () => branches.map((steps) => lastOutput(run.program, steps, address)),
  });
}

const ELSE = -1;

/** Runs the first case whose condition holds, or else `else`. The choice is made once. */
async function runBranch(run: ProgramRun, running: RunningStep, block: BranchDocument): Promise<StepsEnd> {
  const { address, state } = running;
  const lookup = lookupAt(run.program, address);
  const taken = state.progress?.taken ?? block.cases.findIndex(({ when }) => conditionHolds(when, lookup));
  if (state.progress?.taken === undefined) run.moveOn();
  state.progress = { ...state.progress, taken };
  const steps: readonly StepDocument[] = (taken === ELSE ? block.else : block.cases[taken]?.steps) ?? [];
  const end = await run.runSteps({ ...address, steps });
  return endBlock(run, running, [end], outputOfList(run.program, steps, address));
}

/** Runs rounds of the steps until the condition holds after a round, or the maximum number of rounds is reached. */
async function runRepeat(run: ProgramRun, running: RunningStep, block: RepeatDocument): Promise<StepsEnd> {
  const { address, state } = running;
  for (let round = Math.max(0, (state.rounds ?? roundsBefore(run.program, address) ?? 0) - 1); ; round += 1) {
    if (state.rounds !== round + 1) run.moveOn();
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

/** Runs the steps for each item, with a bounded number of items at the same time. No further item begins after a failed one. */
async function runForEach(run: ProgramRun, running: RunningStep, block: ForEachDocument): Promise<StepsEnd> {
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
  const earlier = reusableItems(run.program, address, list);
  const mayRun = itemsThatMayRun(run, address, block);
  let next = 0;
  const runItems = async (): Promise<void> => {
    while (next < list.length && ends.length === 0 && problems.length === 0) {
      const index = next;
      next += 1;
      if (isDone(index) || !mayRun(index)) continue;
      const item = { unit: address.unit, steps: block.steps, indexes: [...address.indexes, index] };
      const result = earlier(index);
      const end = result === undefined ? await run.runSteps(item) : await reuseItem(run, item, result);
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
  // A run that resumes this one reuses the items of a failed block.
  if (end !== 'completed') return end;
  delete state.items;
  delete state.spilledItems;
  return end;
}

/** Stores the output of an item whose steps have ended, and forgets the steps. Returns the reason if that is not possible. */
async function endItem(run: ProgramRun, { address, state }: RunningStep, { steps }: ForEachDocument, index: number): Promise<NotLoaded[]> {
  const at = { unit: address.unit, indexes: [...address.indexes, index] };
  const last = steps.at(-1)?.name ?? address.step;
  const loading = loadOutputs(run, { by: address, at: { ...at, step: last } }, lastAddress(steps, at));
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return [unloaded];
  if (lastAddress(steps, at).some((one) => isForgotten(run.program, one))) forgetItem(state, index);
  else (state.items ??= {})[index] = lastOutput(run.program, steps, at);
  run.moveOn();
  forgetInside(run.program, { ...address, indexes: at.indexes });
  return [];
}

/** Returns a function that says whether an item may run: only one that has begun, if one of them failed in an earlier execution. */
function itemsThatMayRun(run: ProgramRun, { unit, indexes }: StepAddress, { steps }: ForEachDocument): (index: number) => boolean {
  const addresses = (index: number | string): string[] =>
    steps.map(({ name }) => `${addressText({ unit, step: name, indexes })}[${index}]`);
  const hasFailed = run.failedBefore.some((at) => addresses(at.slice(at.lastIndexOf('[') + 1, -1)).includes(at));
  return (index) => !hasFailed || addresses(index).some((at) => run.program.steps.has(at));
}

function listProblem(list: unknown): string | undefined {
  if (!Array.isArray(list)) return 'that is not a list';
  return list.length > PROGRAM_LIMITS.items ? `that has ${list.length} items, over ${PROGRAM_LIMITS.items}` : undefined;
}

// Outputs of `forEach` items, some of which an earlier execution has stored.

/** Returns a function that says whether an item has ended, because its output is in the state or in the payload store. */
function itemsThatEnded(state: StepState): (index: number) => boolean {
  const stored = new Set(state.spilledItems?.flatMap(({ indexes }) => indexes));
  return (index) => stored.has(index) || Object.hasOwn(state.items ?? {}, index);
}

/** Loads the outputs of items that are only in the payload store. Returns the reason if that is not possible. */
async function loadItems(run: ProgramRun, { address, at, state }: RunningStep): Promise<NotLoaded[]> {
  const { spilledItems } = state;
  // The step ends without an output if one of its parts was dropped.
  if (spilledItems === undefined || state.outputForgotten) return [];
  const stored = spilledItems.map(({ id, spilled }) => ({ address: `${at}${ITEMS_SUFFIX}`, id, spilled }));
  const items = { ...state.items };
  const unloaded = await loadStored(run, { by: address }, stored, (_, value) => {
    if (isJsonObject(value)) Object.assign(items, value);
  });
  if (unloaded !== undefined) return [unloaded];
  state.items = items;
  delete state.spilledItems;
  return [];
}

// The end of a block.

/** Returns the output of a list's last step, or null if the list is empty or the step was skipped. */
function lastOutput(program: ProgramState, list: readonly StepDocument[], at: Omit<StepAddress, 'step'>): JsonValue {
  const [last] = lastAddress(list, at);
  return last === undefined ? null : (program.steps.get(last)?.output ?? null);
}

/** Returns a block output that is the output of the executed list's last step. */
function outputOfList(program: ProgramState, list: readonly StepDocument[], at: Omit<StepAddress, 'step'>): BlockOutput {
  return { of: lastAddress(list, at), make: () => lastOutput(program, list, at) };
}

/** Returns the address of a list's last step, or an empty list if there is no step. */
function lastAddress(list: readonly StepDocument[], { unit, indexes }: Omit<StepAddress, 'step'>): string[] {
  const last = list.at(-1);
  return last === undefined ? [] : [addressText({ unit, step: last.name, indexes })];
}

interface BlockOutput {
  /** The addresses of the steps whose outputs it combines. */
  of: readonly string[];
  /** Computes the output once the run has these. */
  make: () => JsonValue;
}

/** Ends a block after its lists: it completes with an output, or fails with the first failed step inside it. */
async function endBlock(run: ProgramRun, running: RunningStep, ends: readonly StepsEnd[], output: BlockOutput): Promise<StepsEnd> {
  // What the next execution continues still ends, and a child returns its share of the limits.
  if (ends.includes('stopped') && run.isContinuing) return 'stopped';
  // Otherwise a failed step is final, even if others were stopped.
  if (ends.includes('failed')) {
    const failed = firstFailure(run.program, running.address);
    endStep(run, running, { status: 'failed', ...defined({ error: failed }) });
    return 'failed';
  }
  if (ends.includes('stopped')) return 'stopped';
  const { unit, step } = running.address;
  const outputId = run.ports.uuid();
  const isUnnamed = !namedOutputs(run.program.document).has(`${unit}.${step}`);
  const lacksPart = running.state.outputForgotten === true || output.of.some((at) => isForgotten(run.program, at));
  if (lacksPart || (isUnnamed && output.of.some((at) => isOnlyStored(run.program, at)))) {
    endStep(run, running, { status: 'completed', outputForgotten: true, outputId });
    return 'completed';
  }
  const loading = loadOutputs(run, { by: running.address }, output.of);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return notLoaded(run, running, unloaded);
  endStep(run, running, { status: 'completed', output: output.make(), outputId });
  return 'completed';
}

/** True for an output that the run would have to load first. */
function isOnlyStored({ steps }: ProgramState, address: string): boolean {
  const { output, spilled } = steps.get(address) ?? {};
  return output === undefined && spilled !== undefined;
}

/** True for an output that was dropped when the run continued as new. */
function isForgotten({ steps }: ProgramState, address: string): boolean {
  return steps.get(address)?.outputForgotten === true;
}

/** Returns the first error of a step inside a block. */
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

/** Ends a step that needs an output which could not be loaded, unless the run stops: then the next execution loads it. */
export function notLoaded(run: ProgramRun, running: RunningStep, problem: NotLoaded): StepsEnd {
  if (problem.type === 'stopped') return 'stopped';
  endStep(run, running, { status: 'failed', error: problem.error });
  return 'failed';
}
