import type { AllPorts } from './capabilities.ts';
// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities: whoever runs or reads a run does it through this file.
import './capabilities.ts';
import { defined, type JsonValue } from './domain/json.ts';
import { errorMessage } from './domain/errors.ts';
import { isBlock, type StepDocument, type UnitDocument } from './domain/program-document.ts';
import type { ProgramState, UnitState } from './domain/program-run.ts';
import { limitStatus } from './domain/run.ts';
import { isoTime } from './domain/time.ts';
import type { StepError } from './domain/verdicts.ts';
import { awaitAgain } from './kernel/approvals.ts';
import { BEGINNING, closeRun, type LoopEnd, runLoop } from './kernel/run-loop.ts';
import type { Ending, RunPosition } from './kernel/next-step.ts';
import { takeRequests } from './kernel/messages.ts';
import type { RunState } from './kernel/run-state.ts';
import { notLoaded, runBlock } from './program/blocks.ts';
import { droppedProblem } from './program/dropped-outputs.ts';
import { lackingOutput } from './program/loads.ts';
import { failureText } from './program/step-errors.ts';
import type { ProgramPorts } from './program/program-ports.ts';
import { beginStep, endStep, ProgramRun, recordNote, type StepList, type StepsEnd, type Stop } from './program/program-run.ts';
import { loadForRun, loadNeeded, loadOutputs, neededBefore, spillOutputs } from './program/stored-outputs.ts';
import { reuse } from './program/reuse.ts';
import { runAttempts } from './program/step-attempts.ts';
import { conditionHolds, lookupAt, neededAddresses, resolveValue } from './program/references.ts';
import { addressText } from './program/program-index.ts';
import { isSession } from './sessions/open-session.ts';
import { runSession, type SessionPorts } from './sessions/run-session.ts';

/** The effects of any kind of run. */
export interface InterpreterPorts extends AllPorts, ProgramPorts, SessionPorts {}

/** Runs the loop of an agent, the turns of a session, or the steps of a program until it ends or its history is full. */
export function interpret(state: RunState, ports: InterpreterPorts, from: RunPosition = BEGINNING): Promise<LoopEnd> {
  if (state.program !== undefined) return runProgram(state, state.program, ports);
  if (isSession(state)) return runSession(state, ports, from);
  return runLoop(state, ports, from.type === 'idle' ? BEGINNING : from);
}

// Programs: the interpreter.

/**
 * Runs the units of a program until all have ended, a limit or a cancellation stops it, or the history of this execution is full. Pure:
 * every effect goes through `ports`, and every decision uses recorded data only.
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
  const reason = isUnfinished || run.isLate ? run.stop : output.type === 'stopped' ? run.stop : undefined;
  const ending = reason === undefined ? programEnding(run, output) : stopped(reason, output);
  return { type: 'finished', result: closeRun(state, ports, ending) };
}

/** Leaves everything else to the next execution, along with the outputs that it needs. */
async function continueAsNew(run: ProgramRun): Promise<LoopEnd> {
  const error = await spillOutputs(run);
  if (error === undefined) return { type: 'continue', position: BEGINNING };
  takeRequests(run.state, run.ports);
  return { type: 'finished', result: closeRun(run.state, run.ports, { status: 'error', stopReason: 'error', output: null, error }) };
}

/** Returns the ending of a program that was stopped by a cancellation or a limit, with its output so far. */
function stopped(stop: Stop, output: ProgramOutput): Ending {
  const value = output.type === 'made' ? output.value : null;
  if (stop.type === 'limit') {
    const { stopReason } = stop.reached;
    return { status: limitStatus(stopReason), stopReason, output: value };
  }
  return { status: 'cancelled', stopReason: 'cancelled', output: value };
}

/** Returns the ending of a program whose units have all ended. A failed unit makes the program fail. */
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
  /** A cancellation or the end of the execution came first. */
  | { type: 'stopped' }
  | { type: 'failed'; error: { code: string; message: string } };

/** The place of the output in its program, outside of any unit. */
const AT = { unit: '', step: '', indexes: [] };

/** Returns the output of a program: its template, or the output of the last step of the last unit. */
async function outputOf(run: ProgramRun): Promise<ProgramOutput> {
  const { document, steps } = run.program;
  const { output, units } = document;
  const last = `${units.at(-1)?.name}.${units.at(-1)?.steps.at(-1)?.name}`;
  const loading = output === undefined ? loadOutputs(run, { by: AT }, [last]) : loadNeeded(run, AT, output);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return unloaded;
  if (output === undefined) return { type: 'made', value: steps.get(last)?.output ?? null };
  try {
    const resolved = resolveValue(output, lookupAt(run.program, AT), { lenient: document.lenient });
    if (resolved.ok) return { type: 'made', value: resolved.value };
    return { type: 'failed', error: { code: 'invalid_output', message: `The program has no output: ${resolved.problem}` } };
  } catch (error) {
    return { type: 'failed', error: { code: 'internal', message: errorMessage(error) } };
  }
}

// Programs: steps in order.

/** Runs steps in order, up to the first that fails. Skips steps that ended in an earlier execution. */
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

/** Runs one step. A skipped step counts as completed: later steps run. */
async function runStep(run: ProgramRun, { unit, step, indexes }: ListedStep): Promise<StepsEnd> {
  const address = { unit, step: step.name, indexes };
  const known = run.program.steps.get(addressText(address));
  if (known?.status === 'failed') return 'failed';
  if (known?.status === 'completed' || known?.status === 'skipped') return 'completed';
  // A running child is waited for even if the run stops.
  const { child, usedUp } = known?.progress ?? {};
  const mayHoldChild = known !== undefined && (isBlock(step) || child !== undefined || usedUp !== undefined);
  if (run.stop !== undefined && !mayHoldChild) return 'stopped';
  const turn = mayHoldChild ? undefined : run.turns.next(run);
  if (turn !== undefined && !(await turn)) return 'stopped';
  const running = beginStep(run, address);
  if (running.state.attempts === 0) {
    const before = loadNeeded(run, address, neededBefore(run.program, address, step), { opens: isBlock(step), mayLack: true });
    const unloaded = before === undefined ? undefined : await before;
    if (unloaded !== undefined) return notLoaded(run, running, unloaded);
    const isBegun = running.state.progress?.begun === true;
    // The condition held in the earlier run, with equal values.
    if (!isBegun && reuse(run, running)) return 'completed';
    const lacking =
      isBegun || step.when === undefined
        ? undefined
        : lackingOutput(run.program, address, neededAddresses(run.program, address, { of: step.when.of }));
    if (lacking !== undefined) return notLoaded(run, running, lacking);
    if (!isBegun && step.when !== undefined && !conditionHolds(step.when, lookupAt(run.program, address))) {
      endStep(run, running, { status: 'skipped', reason: `the condition on "${step.when.of}" does not hold` });
      return 'completed';
    }
  }
  if (!isBlock(step)) return runAttempts(run, running, step);
  if (running.state.progress?.begun !== true) run.moveOn();
  running.state.progress = { ...running.state.progress, begun: true };
  const loading = loadForRun(run, running, step);
  const unloaded = loading === undefined ? undefined : await loading;
  return unloaded === undefined ? runBlock(run, running, step) : notLoaded(run, running, unloaded);
}

// Programs: results of an earlier run.

/** Reads the results of the earlier run once. A failure ends the run, so that nothing is paid for twice by accident. */
async function readEarlier({ program, ports }: ProgramRun): Promise<{ code: string; message: string } | undefined> {
  if (program.resume === undefined || program.earlier !== undefined) return undefined;
  const outcome = await ports.readEarlier(program.resume.run);
  if (outcome.type === 'read') program.earlier = outcome.earlier;
  return outcome.type === 'failed' ? outcome : droppedProblem(program);
}

// Programs: units, in order or as a graph.

/** Runs all units. Without any `needs`, they run in order; otherwise each runs once the units that it needs have ended. */
async function runUnits(run: ProgramRun): Promise<void> {
  const { units } = run.program.document;
  const isGraph = units.some(({ needs }) => needs !== undefined);
  const ends = new Map<string, Promise<void>>();
  let before: Promise<void> = Promise.resolve();
  for (const unit of units) {
    const needed = unit.needs ?? [];
    // A unit may need a later one: its promise is looked up once all of them exist.
    const end = isGraph ? Promise.resolve().then(() => Promise.all(needed.map(async (name) => ends.get(name)))) : before;
    before = end.then(() => runUnit(run, unit, needed));
    ends.set(unit.name, before);
  }
  await Promise.all(ends.values());
}

async function runUnit(run: ProgramRun, unit: UnitDocument, needed: readonly string[]): Promise<void> {
  const known = run.program.units.get(unit.name);
  if (known !== undefined && known.status !== 'running') return;
  // A unit may contain a running child, whose end is waited for even if the run stops.
  if (run.stop !== undefined && known === undefined) return;
  run.budget.lanes += 1;
  await runOpenUnit(run, unit, { needed, known });
  run.budget.lanes -= 1;
}

async function runOpenUnit(
  run: ProgramRun,
  unit: UnitDocument,
  { needed, known }: { needed: readonly string[]; known: UnitState | undefined },
): Promise<void> {
  const { program, ports } = run;
  if (known === undefined && unit.when !== undefined && needed.every((name) => program.units.get(name)?.status === 'completed')) {
    const unloaded = await loadNeeded(run, { unit: unit.name, step: '', indexes: [] }, { of: unit.when.of });
    if (unloaded !== undefined) return unloaded.type === 'stopped' ? undefined : failToBegin(run, unit, unloaded.error);
  }
  const state: UnitState = known ?? { status: 'running', startedAt: ports.now() };
  if (known === undefined) {
    program.units.set(unit.name, state);
    run.moveOn();
    recordNote(run, { at: unit.name, kind: 'unit', type: 'start' });
    const reason = reasonToSkip(run, unit, needed);
    if (reason !== undefined) return endUnit(run, unit, state, { status: 'skipped', reason });
  }
  const end = await run.runSteps({ unit: unit.name, steps: unit.steps, indexes: [] });
  if (end === 'stopped') return;
  const error =
    end === 'failed'
      ? unit.steps.map(({ name }) => program.steps.get(`${unit.name}.${name}`)).find((step) => step?.status === 'failed')?.error
      : undefined;
  endUnit(run, unit, state, { status: end, ...defined({ error }) });
}

/** Records the failure of a unit whose condition refers to an output that could not be loaded. */
function failToBegin(run: ProgramRun, unit: UnitDocument, error: StepError): void {
  const state: UnitState = { status: 'running', startedAt: run.ports.now() };
  run.program.units.set(unit.name, state);
  recordNote(run, { at: unit.name, kind: 'unit', type: 'start' });
  endUnit(run, unit, state, { status: 'failed', error });
}

/** Returns why a unit is skipped: a unit that it needs has not completed, or its condition does not hold. */
function reasonToSkip({ program }: ProgramRun, unit: UnitDocument, needed: readonly string[]): string | undefined {
  const missing = needed.find((name) => program.units.get(name)?.status !== 'completed');
  if (missing !== undefined)
    return `it needs unit "${missing}", which ${program.units.get(missing)?.status === 'failed' ? 'failed' : 'was skipped'}`;
  if (unit.when === undefined) return undefined;
  const holds = conditionHolds(unit.when, lookupAt(program, { unit: unit.name, step: '', indexes: [] }));
  return holds ? undefined : `the condition on "${unit.when.of}" does not hold`;
}

function endUnit(run: ProgramRun, { name }: UnitDocument, state: UnitState, end: Partial<UnitState> & Pick<UnitState, 'status'>): void {
  Object.assign(state, end, { endedAt: run.ports.now() });
  const { status, error, reason, startedAt } = state;
  recordNote(run, {
    at: name,
    kind: 'unit',
    type: 'end',
    startedAt: isoTime(startedAt),
    ...(status === 'running' ? {} : { status }),
    ...defined({ error, reason }),
  });
  run.ports.recorded?.(run.state);
}
