// Programs: outputs that nothing needs any more.

import type { JsonValue } from '../../../domain/json/json.ts';
import type { ProgramState, StepState } from '../../../domain/program/program-state.ts';
import { jsonBytes } from '../../../domain/json/payload-limit.ts';
import { parseAddress } from '../../state/address.ts';
import { type CarriedOutput, ITEMS } from '../../state/carried-outputs.ts';
import { namedOutputs, neededOutputs } from '../../state/needed-outputs.ts';

/** Bytes of JSON of an output that is kept for the result of the run although no step refers to it. */
const KEPT_BYTES = 200;

/**
 * Forgets large outputs that nothing in the program refers to, and the details of steps that have ended, before the state is carried. The
 * record of events has them.
 */
export function forgetUnnamed({ document, steps }: ProgramState): void {
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
export function forgetUsed(program: ProgramState, outputs: readonly CarriedOutput[], room: number): CarriedOutput[] {
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
export function totalBytes(outputs: readonly CarriedOutput[]): number {
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
