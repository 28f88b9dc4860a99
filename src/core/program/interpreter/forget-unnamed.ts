// Programs: outputs that nothing needs any more.

import type { JsonValue } from '../../domain/json/json.ts';
import type { ProgramState } from '../../domain/program/program-state.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import { parseAddress } from '../state/address.ts';
import { namedOutputs } from '../state/named-outputs.ts';

/** Bytes of JSON of an output that is kept for the result of the run although no step refers to it. */
const KEPT_BYTES = 200;

/** Forgets large outputs that nothing in the program refers to, before the state is carried. The record of events has them. */
export function forgetUnnamed({ document, steps }: ProgramState): void {
  const names = namedOutputs(document);
  for (const [at, state] of steps) {
    const { unit, step } = parseAddress(at);
    if (names.has(`${unit}.${step}`)) continue;
    if (state.output !== undefined && jsonBytes(state.output) > KEPT_BYTES) {
      delete state.output;
      state.outputForgotten = true;
    }
    for (const [index, output] of Object.entries(state.items ?? {})) if (isLarge(output)) (state.items ?? {})[index] = null;
  }
}

function isLarge(output: JsonValue): boolean {
  return jsonBytes(output) > KEPT_BYTES;
}
