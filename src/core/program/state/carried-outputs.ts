import type { JsonValue } from '../../domain/json.ts';
import { jsonBytes } from '../../domain/byte-budgets.ts';
import type { ProgramState, StepState } from '../../domain/program-run.ts';

/** The end of the address that stands for the outputs of the items of a `forEach`. No address of a step has two dots. */
export const ITEMS = '.items';

/** An output in the state of a program, as the next execution would be given it. */
export interface CarriedOutput {
  /** The address of the step. It ends in `.items` for the outputs of the items of a running `forEach`. */
  address: string;
  /** The address of the step itself. */
  at: string;
  state: StepState;
  bytes: number;
}

/** Lists the outputs that a program would carry, the largest first. */
export function carriedOutputs({ steps }: Pick<ProgramState, 'steps'>): CarriedOutput[] {
  const found = [...steps].flatMap(([at, state]) => [
    ...carried(at, { at, state }, state.output),
    ...carried(`${at}${ITEMS}`, { at, state }, state.items),
  ]);
  return found.toSorted((a, b) => b.bytes - a.bytes);
}

function carried(address: string, step: Pick<CarriedOutput, 'at' | 'state'>, value: JsonValue | undefined): CarriedOutput[] {
  return value === undefined ? [] : [{ address, ...step, bytes: jsonBytes(value) }];
}
