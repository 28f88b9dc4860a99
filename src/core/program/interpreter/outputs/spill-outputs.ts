import type { SpilledContent } from '../../../domain/content.ts';
import type { ErrorCode } from '../../../domain/errors.ts';
import type { JsonValue } from '../../../domain/json.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../../domain/byte-budgets.ts';
import type { ProgramState, StepState } from '../../../domain/program-run.ts';
import { BEGINNING } from '../../../loop/run-loop.ts';
import { toContinueAsNewState } from '../../../loop/state/continue-as-new-state.ts';
import { parseAddress } from '../../state/address.ts';
import { type CarriedOutput, carriedOutputs, ITEMS } from '../../state/carried-outputs.ts';
import { namedOutputs, neededOutputs } from '../../state/needed-outputs.ts';
import type { ProgramRun } from '../program-run.ts';
import { MAX_LOADED_BYTES } from './load-outputs.ts';

// Programs: outputs that are too large to be carried.

/** The most bytes of JSON of the outputs that a run carries. */
export const MAX_CARRIED_OUTPUT_BYTES = 1_000_000;

/** Bytes that are left for messages and requests that arrive before the state is carried. */
const RESERVED_BYTES = 300_000;

/** Bytes of JSON of an output that is never stored: its reference would be as long. */
const REFERENCE_BYTES = 1_000;

interface Problem {
  code: ErrorCode;
  message: string;
}

/**
 * Brings the outputs that are carried into the next execution within their budget: forgets those that nothing needs, and moves the
 * largest others to the payload store. Returns the reason why that is not possible.
 */
export async function spillOutputs(run: ProgramRun): Promise<Problem | undefined> {
  const { program, ports } = run;
  forgetUnnamed(program);
  const room = roomForOutputs(run);
  const outputs = forgetUsed(program, carriedOutputs(program), room);
  const moved = new Map<string, CarriedOutput & { id: string }>();
  let bytes = totalBytes(outputs);
  for (const output of outputs) {
    if (bytes <= room || output.bytes <= REFERENCE_BYTES) break;
    bytes -= output.bytes;
    // An output that an earlier execution has stored, and this one has loaded.
    if (output.address === output.at && output.state.spilled !== undefined) delete output.state.output;
    else moved.set(output.address, { ...output, id: idOf(output) ?? ports.uuid() });
  }
  if (moved.size === 0) return undefined;
  const outcome = await ports.storeOutputs(Object.fromEntries([...moved].map(([address, { id }]) => [address, id])));
  // The next execution, or the end of this one, finds the outputs where they are.
  if (outcome.type === 'cancelled') return undefined;
  if (outcome.type === 'failed') return { code: 'payload_too_large', message: problemText(run, outputs, outcome.message) };
  for (const [address, output] of moved) {
    const spilled = outcome.stored[address];
    if (spilled === undefined) return { code: 'payload_too_large', message: problemText(run, outputs, `"${address}" was not stored`) };
    replace(output, output.id, spilled);
  }
  return longListProblem(run);
}

/** Describes the items of a `forEach` that can never become one list: the run would go on in vain. */
function longListProblem({ program }: ProgramRun): Problem | undefined {
  for (const [at, { spilledItems = [] }] of program.steps) {
    const bytes = spilledItems.reduce((sum, { spilled }) => sum + spilled.bytes, 0);
    if (bytes <= MAX_LOADED_BYTES) continue;
    const message = `The outputs of the items of step "${at}" have ${bytes} bytes, over ${MAX_LOADED_BYTES}, and cannot become one list: make them smaller`;
    return { code: 'payload_too_large', message };
  }
  return undefined;
}

/** Returns the bytes that outputs may have beside everything else that is carried. */
function roomForOutputs({ state, program, ports }: ProgramRun): number {
  const carried = jsonBytes(toContinueAsNewState(state, BEGINNING, { executions: 0, inbox: ports.inbox.carried() }));
  const others = carried - totalBytes(carriedOutputs(program));
  return Math.max(0, Math.min(MAX_CARRIED_OUTPUT_BYTES, MAX_PAYLOAD_BYTES - RESERVED_BYTES - others));
}

/** Returns the id of the output of a step. The items of a `forEach` have none. */
function idOf({ address, state }: CarriedOutput): string | undefined {
  return address.endsWith(ITEMS) ? undefined : state.outputId;
}

function replace({ address, state }: CarriedOutput, id: string, spilled: SpilledContent): void {
  if (!address.endsWith(ITEMS)) {
    state.spilled = spilled;
    state.outputId = id;
    delete state.output;
    return;
  }
  const indexes = Object.keys(state.items ?? {}).map(Number);
  state.spilledItems = [...(state.spilledItems ?? []), { id, indexes, spilled }];
  state.items = {};
}

function problemText({ state }: ProgramRun, outputs: readonly CarriedOutput[], reason: string): string {
  const [largest] = outputs;
  return (
    `Run "${state.runId}" cannot continue in a new execution: it would carry ${totalBytes(outputs)} bytes of outputs that later steps name, ` +
    `over ${MAX_CARRIED_OUTPUT_BYTES}, and they could not be stored (${reason}). The largest is that of step "${largest?.at}", ` +
    `with ${largest?.bytes} bytes: give createWorker a payload store ("payloadStore"), or make it smaller`
  );
}

// Programs: outputs that nothing needs any more.

/** Bytes of JSON of an output that is kept for the result of the run although no step refers to it. */
const KEPT_BYTES = 200;

/**
 * Forgets large outputs that nothing in the program refers to, and the details of steps that have ended, before the state is carried. The
 * record of events has them.
 */
function forgetUnnamed({ document, steps }: ProgramState): void {
  const names = namedOutputs(document);
  for (const [at, state] of steps) {
    if (state.status !== 'running') forgetDetails(state);
    if (names.has(nameOf(at))) continue;
    if (state.output !== undefined && isLarge(state.output)) forgetOutput(state);
    for (const [index, output] of Object.entries(state.items ?? {})) if (isLarge(output)) (state.items ?? {})[index] = null;
  }
}

/**
 * Forgets outputs that only parts of the program have named which have ended, the largest first, until the others have at most `room`
 * bytes. Below that they are kept: the result of the run shows them, and a run that resumes this one can take them over.
 */
function forgetUsed(program: ProgramState, outputs: readonly CarriedOutput[], room: number): CarriedOutput[] {
  const needed = neededOutputs(program);
  let bytes = totalBytes(outputs);
  return outputs.filter(({ address, at, state, bytes: own }) => {
    if (bytes <= room || own <= KEPT_BYTES || address.endsWith(ITEMS) || needed.has(nameOf(at))) return true;
    bytes -= own;
    forgetOutput(state);
    return false;
  });
}

/** Returns the bytes of outputs together. */
function totalBytes(outputs: readonly CarriedOutput[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes, 0);
}

function forgetOutput(state: StepState): void {
  delete state.output;
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
function nameOf(at: string): string {
  const { unit, step } = parseAddress(at);
  return `${unit}.${step}`;
}

function isLarge(output: JsonValue): boolean {
  return jsonBytes(output) > KEPT_BYTES;
}
