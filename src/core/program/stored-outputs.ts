import { jsonBytes, MAX_PAYLOAD_BYTES } from '../domain/byte-budgets.ts';
import type { SpilledContent } from '../domain/content.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { allSteps, isBlock, nestedLists, type ProgramDocument, type StepDocument, type UnitDocument } from '../domain/program-document.ts';
import type { ProgramState, StepProgress, StepState } from '../domain/program-run.ts';
import { toContinueAsNewState } from '../kernel/continue-as-new.ts';
import { BEGINNING } from '../kernel/run-loop.ts';
import { editableFields } from './approvals.ts';
import { askPromptTexts } from './ask.ts';
import { lackingOutput, type LoadRequest, loadStored, MAX_LOADED_BYTES, type NotLoaded, storedOutput } from './loads.ts';
import { addressText, blocksAround, indexOf, parseAddress, type StepAddress } from './program-index.ts';
import type { ProgramRun, RunningStep } from './program-run.ts';
import { bareReferences, neededAddresses, type Reference, referencesIn } from './references.ts';
import { comparedValues, neededToReuse } from './reuse.ts';

// Programs: the outputs that a step needs before it acts.

/** Loads the outputs that the run resolves for a step at its current position. Returns at once if there is nothing to load. */
export function loadForRun(
  run: ProgramRun,
  { address, state }: RunningStep,
  step: StepDocument,
): Promise<NotLoaded | undefined> | undefined {
  const { unit } = indexOf(run.program.document).get(address.unit, address.step);
  // An activity finds the other outputs itself.
  const read = isBlock(step) ? null : comparedValues({ unit, step });
  const lacking = run.program.earlier?.dropped && lackingOutput(run.program, address, neededAddresses(run.program, address, read));
  if (lacking !== undefined) return Promise.resolve(lacking);
  return loadNeeded(run, address, neededByRun(unit, step, state.progress), { opens: isBlock(step) });
}

/**
 * Loads the outputs that the references of a value at a step need, unless the run has them. Undefined once it has all of them. `mayLack`:
 * those of reused steps that the earlier run dropped may be missing.
 */
export function loadNeeded(
  run: ProgramRun,
  by: StepAddress,
  value: JsonValue,
  more: Omit<LoadRequest, 'by'> & { mayLack?: boolean } = {},
): Promise<NotLoaded | undefined> | undefined {
  const { mayLack = false, ...request } = more;
  const addresses = neededAddresses(run.program, by, value);
  const lacking = mayLack ? undefined : lackingOutput(run.program, by, addresses);
  if (lacking !== undefined) return Promise.resolve(lacking);
  return loadOutputs(run, { by, ...request }, addresses);
}

/** Does the same for outputs by step address. Returns at once if there is nothing to load. */
export function loadOutputs(
  run: ProgramRun,
  request: LoadRequest,
  addresses: readonly string[],
): Promise<NotLoaded | undefined> | undefined {
  const missing = addresses.filter((address) => run.program.steps.get(address)?.output === undefined);
  const stored = missing.flatMap((address) => storedOutput(run.program, address));
  if (stored.length === 0) return undefined;
  return loadStored(run, request, stored, ({ address }, value) => {
    const state = run.program.steps.get(address);
    if (state !== undefined) state.output = value;
  });
}

// Programs: the values that the run itself needs. For prompts and the memory, activities find them themselves.

/** Returns a value with the references that decide whether a step runs: those of its condition, or all if an earlier run has its output. */
export function neededBefore(program: ProgramState, address: StepAddress, { when }: StepDocument): JsonValue {
  const isDecided = program.steps.get(addressText(address))?.progress?.begun === true;
  return [when === undefined || isDecided ? null : { of: when.of }, neededToReuse(program, address)];
}

/** Returns a value with the references that the run resolves for a step at its current position. */
function neededByRun(unit: UnitDocument, step: StepDocument, { held, child, approved, taken }: StepProgress = {}): JsonValue {
  if (held !== undefined || child !== undefined) return null;
  // A person is shown what is about to happen.
  const shown = step.approval !== undefined && approved === undefined ? editableFields(step) : null;
  const { ask, tool, agent, program, human, sleep, branch, forEach } = step;
  if (branch !== undefined) return taken !== undefined ? null : branch.cases.map(({ when }) => ({ of: when.of }));
  if (forEach !== undefined) return { in: forEach.in };
  if (tool !== undefined) return tool.arguments ?? null;
  // The input of an `ask` with tools contains its texts.
  if (ask?.tools !== undefined) return [{ ...askPromptTexts(unit, ask) }, shown];
  if (agent !== undefined) return [agent.input, agent.deps ?? null, shown];
  return [program?.input ?? human?.question ?? sleep?.for ?? null, shown];
}

// Programs: outputs that are too large to be carried.

/** The maximum bytes of JSON of a run's carried outputs. */
export const MAX_CARRIED_OUTPUT_BYTES = 1_000_000;

/** Bytes reserved for messages and requests that arrive before the state is carried. */
const RESERVED_BYTES = 300_000;

/** Bytes of JSON of an output that is never stored, because its reference would be just as long. */
const REFERENCE_BYTES = 1_000;

interface SpillProblem {
  code: ErrorCode;
  message: string;
}

/**
 * Reduces the carried outputs to their budget: forgets the ones that are no longer needed, and moves the largest others to the payload
 * store. Returns the reason if that is not possible.
 */
export async function spillOutputs(run: ProgramRun): Promise<SpillProblem | undefined> {
  const { program, ports } = run;
  forgetUnnamed(program);
  const room = roomForOutputs(run);
  const outputs = forgetUsed(program, continuedOutputs(program), room);
  const moved = new Map<string, ContinuedOutput & { id: string }>();
  let bytes = totalBytes(outputs);
  for (const output of outputs) {
    if (bytes <= room || output.bytes <= REFERENCE_BYTES) break;
    bytes -= output.bytes;
    // An output that an earlier execution stored and this one has loaded.
    if (output.address === output.at && output.state.spilled !== undefined) delete output.state.output;
    else moved.set(output.address, { ...output, id: outputIdOf(output) ?? ports.uuid() });
  }
  if (moved.size === 0) return undefined;
  const outcome = await ports.storeOutputs(Object.fromEntries([...moved].map(([address, { id }]) => [address, id])));
  // The next execution, or the end of this one, finds the outputs where they are.
  if (outcome.type === 'cancelled') return undefined;
  if (outcome.type === 'failed') return { code: 'payload_too_large', message: cannotStoreText(run, outputs, outcome.message) };
  for (const [address, output] of moved) {
    const spilled = outcome.stored[address];
    if (spilled === undefined) return { code: 'payload_too_large', message: cannotStoreText(run, outputs, `"${address}" was not stored`) };
    replaceByReference(output, output.id, spilled);
  }
  return longListProblem(run);
}

/** Describes the items of a `forEach` whose list would be too long to ever be assembled: the run would continue in vain. */
function longListProblem({ program }: ProgramRun): SpillProblem | undefined {
  for (const [at, { status, spilledItems = [] }] of program.steps) {
    // A failed one keeps its items for a run that resumes this one, and makes no list of them.
    if (status !== 'running') continue;
    const bytes = spilledItems.reduce((sum, { spilled }) => sum + spilled.bytes, 0);
    if (bytes <= MAX_LOADED_BYTES) continue;
    const message = `The outputs of the items of step "${at}" have ${bytes} bytes, over ${MAX_LOADED_BYTES}, and cannot become one list: make them smaller`;
    return { code: 'payload_too_large', message };
  }
  return undefined;
}

/** Returns the bytes available for outputs besides everything else that is carried. */
function roomForOutputs({ state, program, ports }: ProgramRun): number {
  const carried = jsonBytes(toContinueAsNewState(state, BEGINNING, { executions: 0, inbox: ports.inbox.carried() }));
  const others = carried - totalBytes(continuedOutputs(program));
  return Math.max(0, Math.min(MAX_CARRIED_OUTPUT_BYTES, MAX_PAYLOAD_BYTES - RESERVED_BYTES - others));
}

/** Returns the id of a step's output. The items of a `forEach` have none. */
function outputIdOf({ address, state }: ContinuedOutput): string | undefined {
  return address.endsWith(ITEMS_SUFFIX) ? undefined : state.outputId;
}

function replaceByReference({ address, state }: ContinuedOutput, id: string, spilled: SpilledContent): void {
  if (!address.endsWith(ITEMS_SUFFIX)) {
    state.spilled = spilled;
    state.outputId = id;
    delete state.output;
    return;
  }
  const indexes = Object.keys(state.items ?? {}).map(Number);
  state.spilledItems = [...(state.spilledItems ?? []), { id, indexes, spilled }];
  state.items = {};
}

function cannotStoreText({ state }: ProgramRun, outputs: readonly ContinuedOutput[], reason: string): string {
  const [largest] = outputs;
  return (
    `Run "${state.runId}" cannot continue in a new execution: it would carry ${totalBytes(outputs)} bytes of outputs that later steps name, ` +
    `over ${MAX_CARRIED_OUTPUT_BYTES}, and they could not be stored (${reason}). The largest is the output of step "${largest?.at}", ` +
    `with ${largest?.bytes} bytes: give createWorker a payload store ("payloadStore"), or make it smaller`
  );
}

// Programs: outputs that are no longer needed.

/** Bytes of JSON of an output that is kept for the run's result although no step refers to it. */
const KEPT_BYTES = 200;

/**
 * Forgets large outputs that nothing in the program refers to, and the details of ended steps, before the state is carried. The record of
 * events has them.
 */
function forgetUnnamed({ document, steps }: ProgramState): void {
  const names = namedOutputs(document);
  for (const [at, state] of steps) {
    if (state.status !== 'running') forgetDetails(state);
    if (names.has(stepOfAddress(at))) continue;
    if (state.output !== undefined && isLarge(state.output)) forgetOutput(state);
    for (const [index, output] of Object.entries(state.items ?? {})) {
      if (isLarge(output)) forgetItem(state, index);
    }
  }
}

/**
 * Forgets outputs that only ended parts of the program have referenced, largest first, until the others have at most `room` bytes. Below
 * that, they are kept: the run's result shows them, and a resuming run can reuse them.
 */
function forgetUsed(program: ProgramState, outputs: readonly ContinuedOutput[], room: number): ContinuedOutput[] {
  const needed = neededOutputs(program);
  let bytes = totalBytes(outputs);
  return outputs.filter(({ address, at, state, bytes: own }) => {
    const isItems = address.endsWith(ITEMS_SUFFIX);
    // No step of this run reads the items of a failed `forEach`. A run that resumes this one must know which of them have ended.
    const isNeeded = isItems ? state.status === 'running' : needed.has(stepOfAddress(at));
    if (bytes <= room || own <= KEPT_BYTES || isNeeded) return true;
    bytes -= own;
    if (!isItems) forgetOutput(state);
    else for (const index of Object.keys(state.items ?? {})) forgetItem(state, index);
    return false;
  });
}

function totalBytes(outputs: readonly ContinuedOutput[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes, 0);
}

function forgetOutput(state: StepState): void {
  delete state.output;
  state.outputForgotten = true;
}

/** Forgets the output of a `forEach`'s item. The list is then without it, so the step ends without an output. */
export function forgetItem(state: StepState, index: number | string): void {
  (state.items ??= {})[index] = null;
  state.outputForgotten = true;
}

function forgetDetails(state: StepState): void {
  const { text, attemptDetails } = state;
  if (text === undefined && attemptDetails === undefined) return;
  delete state.text;
  delete state.attemptDetails;
  state.detailsForgotten = true;
}

/** Returns the step of an address, as `unit.step`. */
export function stepOfAddress(at: string): string {
  const { unit, step } = parseAddress(at);
  return `${unit}.${step}`;
}

function isLarge(output: JsonValue): boolean {
  return jsonBytes(output) > KEPT_BYTES;
}

/** A part of a program that refers to a step's output. Without a step, it is the unit itself; without a unit, the program's output. */
export interface Use {
  /** The referenced step, as `unit.step`. */
  of: string;
  unit?: string;
  step?: string;
}

/** The uses of outputs in a program, by document. A document never changes. */
const usesByDocument = new WeakMap<ProgramDocument, readonly Use[]>();

/** Returns all steps whose outputs a program references, as `unit.step`. */
export function namedOutputs(document: ProgramDocument): ReadonlySet<string> {
  return stepsInUse(document, () => false);
}

/** Returns the steps whose outputs an unfinished part of the program may still read, as `unit.step`. */
export function neededOutputs({ document, units, steps }: Pick<ProgramState, 'document' | 'units' | 'steps'>): ReadonlySet<string> {
  const index = indexOf(document);
  const hasEnded = (status: string | undefined): boolean => status !== undefined && status !== 'running';
  return stepsInUse(document, ({ unit, step }) => {
    if (unit === undefined) return false;
    if (hasEnded(units.get(unit)?.status)) return true;
    if (step === undefined) return false;
    // A step that is not repeated runs once, and nothing inside it runs again after its end.
    return blocksAround(index, { unit, step, indexes: [] }).some(
      (one) => index.get(unit, one.step).loops.length === 0 && hasEnded(steps.get(`${unit}.${one.step}`)?.status),
    );
  });
}

/** Returns the uses of outputs in a program. */
export function usesOf(document: ProgramDocument): readonly Use[] {
  let uses = usesByDocument.get(document);
  if (uses === undefined) usesByDocument.set(document, (uses = usesIn(document)));
  return uses;
}

function stepsInUse(document: ProgramDocument, isOver: (use: Omit<Use, 'of'>) => boolean): Set<string> {
  const names = new Set(
    usesOf(document)
      .filter((use) => !isOver(use))
      .map(({ of }) => of),
  );
  // The output of a block consists of the outputs of the last steps inside it. An outer block comes before inner ones.
  for (const { unit, step } of allSteps(document)) {
    if (!isBlock(step) || !names.has(`${unit.name}.${step.name}`) || isOver({ unit: unit.name, step: step.name })) continue;
    for (const list of nestedLists(step)) names.add(`${unit.name}.${list.at(-1)?.name}`);
  }
  return names;
}

function usesIn(document: ProgramDocument): Use[] {
  const uses: Use[] = [];
  for (const { unit, step } of allSteps(document)) {
    const by = { unit: unit.name, step: step.name };
    uses.push(...referencesInPart(step).flatMap(({ path }) => meanings(unit.name, path, by)));
    if (step.refine?.fallback !== undefined) uses.push({ of: `${unit.name}.${step.refine.fallback}`, ...by });
  }
  for (const { steps: _, ...unit } of document.units) {
    uses.push(...referencesInPart(unit).flatMap(({ path }) => meanings(unit.name, path, { unit: unit.name })));
  }
  uses.push(...referencesIn(document.output).flatMap(({ reference }) => meanings('', reference.path, {})));
  const last = document.units.at(-1);
  if (document.output === undefined && last !== undefined) uses.push({ of: `${last.name}.${last.steps.at(-1)?.name}` });
  return uses;
}

/** Returns the possible meanings of a path's first names: a step of the unit, or a step of another unit. */
function meanings(unit: string, [first, second]: Reference['path'], by: Omit<Use, 'of'>): Use[] {
  return [`${unit}.${first}`, `${first}.${second}`].map((of) => ({ of, ...by }));
}

/** Returns the references in all texts of a step or unit, including references without braces. */
function referencesInPart(part: StepDocument | object): Reference[] {
  const plain = part as JsonObject;
  return [...referencesIn(plain).map(({ reference }) => reference), ...bareReferences(plain)];
}

/** The suffix of the address of the outputs of a `forEach`'s items. No step's address has two dots. */
export const ITEMS_SUFFIX = '.items';

/** An output in a program's state, as it would be passed to the next execution. */
interface ContinuedOutput {
  /** The address of the step. It ends in `.items` for the outputs of a running `forEach`'s items. */
  address: string;
  /** The address of the step itself. */
  at: string;
  state: StepState;
  bytes: number;
}

/** Lists the outputs that a program would carry, largest first. */
function continuedOutputs({ steps }: Pick<ProgramState, 'steps'>): ContinuedOutput[] {
  const found = [...steps].flatMap(([at, state]) => [
    ...measured(at, { at, state }, state.output),
    ...measured(`${at}${ITEMS_SUFFIX}`, { at, state }, state.items),
  ]);
  return found.toSorted((a, b) => b.bytes - a.bytes);
}

function measured(address: string, step: Pick<ContinuedOutput, 'at' | 'state'>, value: JsonValue | undefined): ContinuedOutput[] {
  return value === undefined ? [] : [{ address, ...step, bytes: jsonBytes(value) }];
}
