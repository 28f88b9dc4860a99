// Programs: outputs that are too large to be carried.

import type { ErrorCode } from '../../../domain/errors/error.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../../domain/json/payload-limit.ts';
import type { SpilledContent } from '../../../domain/content/content.ts';
import { BEGINNING } from '../../../loop/run-loop.ts';
import { toContinueAsNewState } from '../../../loop/state/continue-as-new-state.ts';
import { type CarriedOutput, carriedOutputs, ITEMS } from '../../state/carried-outputs.ts';
import type { ProgramRun } from '../program-run.ts';
import { MAX_LOADED_BYTES } from './load-outputs.ts';
import { forgetUnnamed, forgetUsed, totalBytes } from './forget-unnamed.ts';

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
