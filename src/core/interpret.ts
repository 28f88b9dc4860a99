import type { AllPorts } from './capabilities.ts';
// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities: whoever runs or reads a run does it through this file.
import './capabilities.ts';
import { defined } from './domain/defined.ts';
import { errorMessage } from './domain/errors.ts';
import { isJsonObject, type JsonValue } from './domain/json.ts';
import {
  type BranchDocument,
  type ForEachDocument,
  isBlock,
  type ParallelDocument,
  PROGRAM_LIMITS,
  type RepeatDocument,
  type StepDocument,
} from './domain/program-document.ts';
import type { ProgramState, StepState } from './domain/program-run.ts';
import type { StepError } from './domain/verdicts.ts';
import { limitStatus } from './domain/run.ts';
import { awaitAgain } from './kernel/approvals.ts';
import { BEGINNING, closeRun, type LoopEnd, runLoop } from './kernel/run-loop.ts';
import type { Ending, RunPosition } from './kernel/next-step.ts';
import { takeRequests } from './kernel/messages.ts';
import type { RunState } from './kernel/run-state.ts';
import { failureText } from './program/step-errors.ts';
import {
  beginStep,
  endStep,
  type ProgramPorts,
  ProgramRun,
  type RunningStep,
  type StepList,
  type StepsEnd,
  type Stop,
} from './program/program-run.ts';
import { loadForRun, loadNeeded, loadOutputs, loadStored, neededBefore, type NotLoaded, spillOutputs } from './program/stored-outputs.ts';
import { runAttempts } from './program/step-attempts.ts';
import { runUnits } from './program/run-units.ts';
import { conditionHolds, contextOf, forgetInside, lookupAt, lookupOf, resolveReference, resolveValue } from './program/references.ts';
import { addressText, indexOf, type StepAddress } from './program/program-index.ts';
import { ITEMS_SUFFIX, namedOutputs, reusableOutput } from './program/needed-outputs.ts';
import { isSession } from './sessions/open-session.ts';
import { runSession, type SessionPorts } from './sessions/run-session.ts';

/** The effects of whatever a run is about. */
export interface InterpreterPorts extends AllPorts, ProgramPorts, SessionPorts {}

/** Runs what the run is about until it ends or its history is full: the loop of an agent, the turns of a session, or the steps of a program. */
export function interpret(state: RunState, ports: InterpreterPorts, from: RunPosition = BEGINNING): Promise<LoopEnd> {
  if (state.program !== undefined) return runProgram(state, state.program, ports);
  if (isSession(state)) return runSession(state, ports, from);
  return runLoop(state, ports, from.type === 'idle' ? BEGINNING : from);
}

// Programs: the interpreter.

/**
 * Runs the units of a program until all have ended, a limit or a cancellation stops it, or the history of this execution
 * is full. It is pure: every effect goes through `ports`, and every decision is taken from recorded data.
 */
export async function runProgram(state: RunState, program: ProgramState, ports: ProgramPorts): Promise<LoopEnd> {
  const run = new ProgramRun({ state, program, ports }, runSteps);
  const unread = await readEarlier(run);
  if (unread !== undefined) {
    const ending: Ending = { status: 'error', stopReason: 'error', output: null, error: unread };
    return { type: 'finished', result: closeRun(state, ports, ending) };
  }
  awaitAgain(state, ports);
  let isDone = false;
  const units = runUnits(run).finally(() => {
    isDone = true;
  });
  await Promise.all([units, run.attend(() => isDone)]);
  const { stop } = run;
  const isUnfinished = program.document.units.some(({ name }) => (program.units.get(name)?.status ?? 'running') === 'running');
  if (isUnfinished && stop?.type === 'continue') return continueAsNew(run);
  const output = await outputOf(run);
  if (output.type === 'stopped' && run.isContinuing) return continueAsNew(run);
  takeRequests(state, ports);
  const reason = isUnfinished ? stop : run.stop?.type === 'cancelled' && output.type === 'stopped' ? run.stop : undefined;
  const ending = reason === undefined ? programEnding(run, output) : stopped(reason, output);
  return { type: 'finished', result: closeRun(state, ports, ending) };
}

/** Leaves everything else to the next execution, with the outputs that it needs. */
async function continueAsNew(run: ProgramRun): Promise<LoopEnd> {
  const error = await spillOutputs(run);
  if (error === undefined) return { type: 'continue', position: BEGINNING };
  takeRequests(run.state, run.ports);
  return { type: 'finished', result: closeRun(run.state, run.ports, { status: 'error', stopReason: 'error', output: null, error }) };
}

/** Returns the ending of a program that a cancellation or a limit stopped, with its output as far as it is there. */
function stopped(stop: Stop, output: ProgramOutput): Ending {
  const value = output.type === 'made' ? output.value : null;
  if (stop.type === 'limit') {
    const { stopReason } = stop.reached;
    return { status: limitStatus(stopReason), stopReason, output: value };
  }
  return { status: 'cancelled', stopReason: 'cancelled', output: value };
}

/** Returns the ending of a program whose units have all ended. One that failed makes the program fail. */
function programEnding({ program, state }: ProgramRun, output: ProgramOutput): Ending {
  const failed = program.document.units.find(({ name }) => program.units.get(name)?.status === 'failed');
  const value = output.type === 'made' ? output.value : null;
  if (failed !== undefined) {
    const { error } = program.units.get(failed.name) ?? {};
    const message = `Unit "${failed.name}" failed: ${error === undefined ? 'a step failed' : failureText(error)}`;
    return { status: 'error', stopReason: 'error', output: value, error: { code: error?.code ?? 'step_failed', message } };
  }
  if (output.type === 'failed') return { status: 'error', stopReason: 'error', output: null, error: output.error };
  state.context.finalResult = value;
  return { status: 'completed', stopReason: 'final_answer', output: value };
}

// Programs: the output of the program.

/** The output of a program, or the reason why it has none. */
type ProgramOutput =
  | { type: 'made'; value: JsonValue }
  /** A cancellation, or the next execution, came first. */
  | { type: 'stopped' }
  | { type: 'failed'; error: { code: string; message: string } };

/** The place of the output in its program, which is in no unit. */
const AT = { unit: '', step: '', indexes: [] };

/** Returns the output of a program: its template, or the output of the last step of the last unit. */
async function outputOf(run: ProgramRun): Promise<ProgramOutput> {
  const { document, steps } = run.program;
  const { output, units } = document;
  const last = `${units.at(-1)?.name}.${units.at(-1)?.steps.at(-1)?.name}`;
  const loading = output === undefined ? loadOutputs(run, AT, [last]) : loadNeeded(run, AT, output);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return unloaded;
  if (output === undefined) return { type: 'made', value: steps.get(last)?.output ?? null };
  try {
    const resolved = resolveValue(output, lookupAt(run.program, AT));
    return { type: 'made', value: resolved.ok ? resolved.value : null };
  } catch (error) {
    return { type: 'failed', error: { code: 'internal', message: errorMessage(error) } };
  }
}

// Programs: steps in their order.

/** Runs steps one after the other, up to the first that fails. Steps that have ended in an earlier execution are passed over. */
async function runSteps(run: ProgramRun, { unit, steps, indexes }: StepList): Promise<StepsEnd> {
  for (const step of steps) {
    const end = await runStep(run, { unit, step, indexes });
    if (end !== 'completed') return end;
  }
  return 'completed';
}

interface ListedStep {
  unit: string;
  step: StepDocument;
  indexes: readonly number[];
}

/** Runs one step. A step that is skipped counts as completed: the steps after it run. */
async function runStep(run: ProgramRun, { unit, step, indexes }: ListedStep): Promise<StepsEnd> {
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

// Programs: results of an earlier run.

/** Reads the results of the earlier run, once. If that fails, the failure ends the run: nothing is paid for twice by accident. */
async function readEarlier({ program, ports }: ProgramRun): Promise<{ code: string; message: string } | undefined> {
  if (program.resume === undefined || program.earlier !== undefined) return undefined;
  const outcome = await ports.readEarlier(program.resume.run);
  if (outcome.type === 'read') program.earlier = outcome.earlier;
  return outcome.type === 'failed' ? outcome : undefined;
}

/** Ends a step with its output in the earlier run, if the step is the same. Returns false for any other step. */
function reuse(run: ProgramRun, running: RunningStep): boolean {
  const { earlier } = run.program;
  if (earlier === undefined) return false;
  const output = reusableOutput(run.program, running.address, {
    now: lookupAt(run.program, running.address),
    earlier: earlierLookup(run, running.address),
  });
  if (output === undefined) return false;
  endStep(run, running, { status: 'completed', output, outputId: run.ports.uuid(), reused: true });
  return true;
}

function earlierLookup({ program: { earlier } }: ProgramRun, at: StepAddress): ReturnType<typeof lookupOf> {
  if (earlier === undefined) return () => ({ found: false });
  return lookupOf(earlier.document, contextOf(earlier.input, earlier.outputs), at);
}

// Programs: blocks, the steps that hold other steps.

function runBlock(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<StepsEnd> {
  if (step.parallel !== undefined) return runParallel(run, running, step.parallel);
  if (step.branch !== undefined) return runBranch(run, running, step.branch);
  if (step.forEach !== undefined) return runForEach(run, running, step.forEach);
  if (step.repeat !== undefined) return runRepeat(run, running, step.repeat);
  throw new TypeError(`Step "${running.at}" is no block`);
}

// Programs: lists of steps in parallel.

/** Runs the branches in parallel. If one fails, the others still end. */
async function runParallel(run: ProgramRun, running: RunningStep, { branches }: ParallelDocument): Promise<StepsEnd> {
  const { address } = running;
  const ends = await run.budget.sideBySide(branches.map((steps) => () => run.runSteps({ ...address, steps })));
  return endBlock(run, running, ends, {
    of: branches.flatMap((steps) => lastAddress(steps, address)),
    make: () => branches.map((steps) => lastOutput(run.program, steps, address)),
  });
}

// Programs: the choice between lists of steps.

const ELSE = -1;

/** Runs the first case whose condition holds, else `else`. The choice is made once. */
async function runBranch(run: ProgramRun, running: RunningStep, block: BranchDocument): Promise<StepsEnd> {
  const { address, state } = running;
  const lookup = lookupAt(run.program, address);
  const taken = state.progress?.taken ?? block.cases.findIndex(({ when }) => conditionHolds(when, lookup));
  state.progress = { taken };
  const steps: readonly StepDocument[] = (taken === ELSE ? block.else : block.cases[taken]?.steps) ?? [];
  const end = await run.runSteps({ ...address, steps });
  return endBlock(run, running, [end], outputOfList(run.program, steps, address));
}

// Programs: steps that are repeated until a condition holds.

/** Runs rounds of the steps until the condition holds after a round, or the most rounds have run. */
async function runRepeat(run: ProgramRun, running: RunningStep, block: RepeatDocument): Promise<StepsEnd> {
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

// Programs: steps for each item of a list.

/** Runs the steps for each item, a bounded number of items at once. After a failed item no further one begins. */
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
  if (!Array.isArray(list)) return 'that is not a list';
  return list.length > PROGRAM_LIMITS.items ? `that has ${list.length} items, over ${PROGRAM_LIMITS.items}` : undefined;
}

// Programs: outputs of the items of a `forEach`, of which an earlier execution has stored some.

/** Returns the function that says if an item has ended: its output is in the state or in the payload store. */
function itemsThatEnded(state: StepState): (index: number) => boolean {
  const stored = new Set(state.spilledItems?.flatMap(({ indexes }) => indexes));
  return (index) => stored.has(index) || Object.hasOwn(state.items ?? {}, index);
}

/** Loads the outputs of items that are only in the payload store. Returns the reason why that is not possible. */
async function loadItems(run: ProgramRun, { address, at, state }: RunningStep): Promise<NotLoaded[]> {
  const { spilledItems } = state;
  if (spilledItems === undefined) return [];
  const stored = spilledItems.map(({ id, spilled }) => ({ address: `${at}${ITEMS_SUFFIX}`, id, spilled }));
  const items = { ...state.items };
  const unloaded = await loadStored(run, address, stored, (_, value) => {
    if (isJsonObject(value)) Object.assign(items, value);
  });
  if (unloaded !== undefined) return [unloaded];
  state.items = items;
  delete state.spilledItems;
  return [];
}

// Programs: the end of a block.

/** Returns the output of the last step of a list; null if the list is empty or the step was skipped. */
function lastOutput(program: ProgramState, list: readonly StepDocument[], at: Omit<StepAddress, 'step'>): JsonValue {
  const [last] = lastAddress(list, at);
  return last === undefined ? null : (program.steps.get(last)?.output ?? null);
}

/** Returns the output of a block that is that of the last step of the list that it has run. */
function outputOfList(program: ProgramState, list: readonly StepDocument[], at: Omit<StepAddress, 'step'>): BlockOutput {
  return { of: lastAddress(list, at), make: () => lastOutput(program, list, at) };
}

/** Returns the address of the last step of a list; none if the list is empty. */
function lastAddress(list: readonly StepDocument[], { unit, indexes }: Omit<StepAddress, 'step'>): string[] {
  const last = list.at(-1);
  return last === undefined ? [] : [addressText({ unit, step: last.name, indexes })];
}

interface BlockOutput {
  /** The addresses of the steps whose outputs it consists of. */
  of: readonly string[];
  /** Makes it once the run has these. */
  make: () => JsonValue;
}

/** Ends a block after the lists inside: it completes with an output, or fails with the first step inside that failed. */
async function endBlock(run: ProgramRun, running: RunningStep, ends: readonly StepsEnd[], output: BlockOutput): Promise<StepsEnd> {
  // A step that failed is final, also if others were stopped.
  if (ends.includes('failed')) {
    const failed = firstFailure(run.program, running.address);
    endStep(run, running, { status: 'failed', ...defined({ error: failed }) });
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

// Programs: steps that lack a stored output.

/** Ends a step that needs an output which could not be loaded, unless the run stops: then the next execution loads it. */
function notLoaded(run: ProgramRun, running: RunningStep, problem: NotLoaded): StepsEnd {
  if (problem.type === 'stopped') return 'stopped';
  endStep(run, running, { status: 'failed', error: problem.error });
  return 'failed';
}
