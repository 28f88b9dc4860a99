import type { ErrorCode } from '../domain/errors.ts';
import type { JsonValue } from '../domain/json.ts';
import type { ProgramState, StoredOutput } from '../domain/program-run.ts';
import type { StepError } from '../domain/verdicts.ts';
import { addressText, blocksAround, indexOf, parseAddress, type StepAddress } from './program-index.ts';
import type { LoadOutcome } from './program-ports.ts';
import type { ProgramRun, WaitingLoad } from './program-run.ts';
import { neededAddresses } from './references.ts';
import { neededToReuse } from './reuse.ts';
import { newStepError } from './step-errors.ts';

// Programs: loading outputs that an earlier execution has moved to the payload store.

/**
 * The maximum bytes of outputs that one execution loads. They become part of its history, which may have 50 MB, and may take twice as many
 * bytes there.
 */
export const MAX_LOADED_BYTES = 16_000_000;

/** The reason why outputs are not loaded: the run stops first, or the step that needs them fails. */
export type NotLoaded = { type: 'stopped' } | { type: 'failed'; error: StepError };

/** A request for stored outputs. */
export interface LoadRequest {
  /** The step that needs them. Without a step, it is the unit; without a unit, the output of the program. */
  by: StepAddress;
  /** Its place among the steps that wait for room. Default: the step that needs them. */
  at?: StepAddress;
  /** The step is a block, which keeps them while its steps run. */
  opens?: boolean;
}

/** Loads outputs in parallel, in this execution if it has room for them, and otherwise in a next one, which begins with them. */
export async function loadStored(
  run: ProgramRun,
  request: LoadRequest,
  stored: readonly StoredOutput[],
  take: (stored: StoredOutput, value: JsonValue) => void,
): Promise<NotLoaded | undefined> {
  const loads = await beginLoads(run, request, stored);
  if (loads.type !== 'begun') return loads;
  const outcomes = await Promise.all(loads.outcomes);
  for (const [index, outcome] of outcomes.entries()) {
    const one = stored[index];
    if (outcome.type === 'loaded' && one !== undefined) take(one, outcome.value);
  }
  const failed = outcomes.find((outcome) => outcome.type === 'failed');
  if (failed !== undefined) return { type: 'failed', error: missingOutputError(request.by, failed.code, failed.message) };
  return outcomes.some(({ type }) => type === 'cancelled') ? { type: 'stopped' } : undefined;
}

/** Loads one output. Parallel steps that need the same output wait for the same activity. */
function loadOnce(run: ProgramRun, stored: StoredOutput): Promise<LoadOutcome> {
  const known = run.loads.get(stored.id);
  if (known !== undefined) return known;
  const loading = run.ports.loadOutput(stored);
  run.loads.set(stored.id, loading);
  run.loadedBytes += stored.spilled.bytes;
  return loading;
}

function missingOutputError(by: StepAddress, code: ErrorCode, message: string): StepError {
  const name = by.step === '' ? (by.unit === '' ? 'The output of the program' : `Unit "${by.unit}"`) : `Step "${addressText(by)}"`;
  return newStepError(code, `${name} lacks an output that it refers to: ${message}`, { step: by.step, unit: by.unit });
}

/** Returns why a step cannot have an output that it refers to: the earlier run dropped it, and its step was reused without it. */
export function lackingOutput({ steps }: ProgramState, by: StepAddress, addresses: readonly string[]): NotLoaded | undefined {
  const lacking = addresses.find((address) => {
    const { reused, outputForgotten } = steps.get(address) ?? {};
    return reused === true && outputForgotten === true;
  });
  if (lacking === undefined) return undefined;
  const { unit, step } = parseAddress(lacking);
  const message =
    `the earlier run completed step "${lacking}", but its output was too large to keep. Resume from "${unit}.${step}" ("from") to run it ` +
    'and all later steps again, with their effects';
  return { type: 'failed', error: missingOutputError(by, 'step_failed', message) };
}

function tooMuchError(by: StepAddress, need: number, isWithLists: boolean): StepError {
  const lists = isWithLists ? ' with the lists of the blocks around it' : '';
  const message = `it needs ${need} bytes of stored outputs${lists}, and one execution loads at most ${MAX_LOADED_BYTES}: make them smaller`;
  return missingOutputError(by, 'payload_too_large', message);
}

// Programs: steps that wait until they may load outputs.

type BegunLoads = NotLoaded | { type: 'begun'; outcomes: Promise<LoadOutcome>[] };

/**
 * Begins to load outputs as soon as this execution may. If only the outputs of others leave it no room, the step waits until the run has
 * moved on: then the next execution has less to load. If all steps wait in this way, one of them goes first in the next execution.
 */
async function beginLoads(
  run: ProgramRun,
  { by, at = by, opens = false }: LoadRequest,
  stored: readonly StoredOutput[],
): Promise<BegunLoads> {
  const kept = keptAround(run, at, opens);
  const need = bytesOf([...stored, ...kept]);
  const missing = (): StoredOutput[] => stored.filter(({ id }) => !run.loads.has(id));
  const hasRoom = (): boolean => run.loadedBytes + bytesOf(missing()) <= MAX_LOADED_BYTES;
  const mayLoad = (): boolean => missing().length === 0 || (hasRoom() && mayGoFirst(run, at));
  const waiting: WaitingLoad = { at, opens };
  for (;;) {
    if (run.stop !== undefined && (run.stop.type !== 'limit' || !mayLoad())) return { type: 'stopped' };
    if (need > MAX_LOADED_BYTES) return { type: 'failed', error: tooMuchError(by, need, kept.length > 0) };
    if (run.stop === undefined && isContinueDue(run, missing(), hasRoom())) run.stopBecause({ type: 'continue' });
    else if (mayLoad()) break;
    else if (run.hasMovedOn) run.stopBecause({ type: 'continue' });
    if (run.isContinuing) return { type: 'stopped' };
    run.waitingLoads.add(waiting);
    await run.ports.until(() => run.isStopped || run.hasMovedOn || mayLoad() || nextToGoFirst(run) !== undefined);
    const next = mayLoad() || run.hasMovedOn ? undefined : nextToGoFirst(run);
    run.waitingLoads.delete(waiting);
    if (run.stop !== undefined || next === undefined) continue;
    run.program.loadsFirst = next;
    run.stopBecause({ type: 'continue' });
  }
  // A block stays first until one of its steps has moved on.
  const { loadsFirst } = run.program;
  if (!opens && loadsFirst !== undefined && addressText(loadsFirst) === addressText(at)) delete run.program.loadsFirst;
  return { type: 'begun', outcomes: stored.map((one) => loadOnce(run, one)) };
}

function isContinueDue({ ports }: ProgramRun, missing: readonly StoredOutput[], hasRoom: boolean): boolean {
  return missing.length > 0 && ports.continueDue({ events: 6 * missing.length, bytes: hasRoom ? bytesOf(missing) : Infinity });
}

/** True unless another step goes first: then only the blocks around it and the steps inside it load outputs. */
function mayGoFirst({ program }: ProgramRun, at: StepAddress): boolean {
  const { loadsFirst } = program;
  return loadsFirst === undefined || isAround(program, at, loadsFirst) || isAround(program, loadsFirst, at);
}

/**
 * Returns the step that goes first in the next execution, if all steps wait until they may load outputs: a step inside the one that goes
 * first in this execution, if there is one, and rather a step that ends than a block that begins. So some step moves on after at most as
 * many executions as blocks are nested.
 */
function nextToGoFirst({ waitingLoads, budget, program }: ProgramRun): StepAddress | undefined {
  if (waitingLoads.size < budget.lanes) return undefined;
  const { loadsFirst } = program;
  const all = [...waitingLoads].filter(
    ({ at }) => loadsFirst === undefined || (isAround(program, loadsFirst, at) && addressText(loadsFirst) !== addressText(at)),
  );
  return (all.find(({ opens }) => !opens) ?? all[0])?.at;
}

/** True for a step and for each block around it. */
function isAround({ document }: ProgramRun['program'], outer: StepAddress, inner: StepAddress): boolean {
  const found = blocksAround(indexOf(document), inner).find(({ step }) => step === outer.step);
  return outer.unit === inner.unit && (found === undefined ? outer.step === inner.step : addressText(found) === addressText(outer));
}

/** Returns the stored outputs that blocks keep loaded while a step runs: those around the step, and itself once it has opened. */
function keptAround({ program, loads }: ProgramRun, at: StepAddress, opens: boolean): StoredOutput[] {
  const open = blocksAround(indexOf(program.document), at).slice(opens ? 1 : 0);
  return open.flatMap((block) => {
    const { step } = indexOf(program.document).get(block.unit, block.step);
    if (step.forEach === undefined && program.earlier === undefined) return [];
    const kept = [step.forEach === undefined ? null : { in: step.forEach.in }, neededToReuse(program, block)];
    const stored = neededAddresses(program, block, kept).flatMap((address) => storedOutput(program, address));
    return stored.filter(({ address, id }) => loads.has(id) || program.steps.get(address)?.output === undefined);
  });
}

/** Returns a step's output in the payload store, or an empty list if it is not there. */
export function storedOutput({ steps }: ProgramRun['program'], address: string): StoredOutput[] {
  const { spilled, outputId: id } = steps.get(address) ?? {};
  return spilled === undefined || id === undefined ? [] : [{ address, id, spilled }];
}

function bytesOf(stored: readonly StoredOutput[]): number {
  return [...new Map(stored.map(({ id, spilled }) => [id, spilled.bytes])).values()].reduce((sum, bytes) => sum + bytes, 0);
}
