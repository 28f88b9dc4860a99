import type { JsonValue } from '../../domain/json.ts';
import { addressText, type StepAddress } from './address.ts';
import type { Loop, ProgramIndex } from './program-index.ts';

/** The values that references of a step can name, by the address of their step. */
export interface ScopeValues {
  index: ProgramIndex;
  input: JsonValue;
  /** Returns the output of an execution of a step; undefined if it has none. */
  outputOf: (address: string) => JsonValue | undefined;
  /** Returns the number of rounds of an execution of a `repeat` that have ended or begun; 0 if it has not begun. */
  roundsOf: (address: string) => number;
  /** Resolves the reference to the list of a `forEach`, as its steps see it. */
  resolve: (reference: string, at: StepAddress) => JsonValue | undefined;
}

/** The value of the first names of a reference, and the number of these names. */
export interface RootValue {
  /** Undefined if the step has not run or has no output. */
  value: JsonValue | undefined;
  names: number;
  /** The address of the step that gave the value. Absent for the input and for items. */
  address?: string;
}

/**
 * Resolves the root of a reference at a step: `input`, the item of a surrounding `forEach`, a step of the same unit, or
 * a step of another unit. Undefined if the names mean nothing there.
 */
export function resolveRoot(values: ScopeValues, at: StepAddress, names: readonly string[]): RootValue | undefined {
  const [first = '', second] = names;
  if (first === 'input') return { value: values.input, names: 1 };
  const loop = loopOfItem(values.index, at, first);
  if (loop !== undefined) {
    const list = values.resolve(loop.in, loop.at);
    return { value: Array.isArray(list) ? list[at.indexes[loop.depth] ?? 0] : undefined, names: 1 };
  }
  if (values.index.find(at.unit, first) !== undefined) return { ...stepValue(values, at, at.unit, first), names: 1 };
  if (second === undefined || values.index.find(first, second) === undefined) return undefined;
  return { ...stepValue(values, at, first, second), names: 2 };
}

/** A `forEach` around a step. */
export interface ListLoop {
  /** The reference to its list. */
  in: string;
  /** Its address. */
  at: StepAddress;
  /** Its index among the loops around the step. */
  depth: number;
}

/** Returns the innermost `forEach` around a step that gives its item that name. */
export function loopOfItem(index: ProgramIndex, at: StepAddress, name: string): ListLoop | undefined {
  const loops = loopsAround(index, at);
  const depth = loops.findLastIndex((loop) => loop.kind === 'forEach' && loop.as === name);
  const loop = loops[depth];
  return loop?.in === undefined
    ? undefined
    : { in: loop.in, at: { unit: at.unit, step: loop.name, indexes: at.indexes.slice(0, depth) }, depth };
}

function loopsAround(index: ProgramIndex, { unit, step }: StepAddress): readonly Loop[] {
  return index.find(unit, step)?.loops ?? [];
}

/** Returns the output of the execution of a step that a step sees: the one in the same item and round. */
function stepValue(values: ScopeValues, at: StepAddress, unit: string, step: string): Pick<RootValue, 'value' | 'address'> {
  const address = addressText({ unit, step, indexes: indexesOf(values, at, unit, step) });
  return { value: values.outputOf(address), address };
}

/** Returns the indexes of the execution. From outside of a `repeat`, that is the last round. */
function indexesOf(values: ScopeValues, at: StepAddress, unit: string, step: string): number[] {
  const loops = values.index.get(unit, step).loops;
  const own = unit === at.unit ? loopsAround(values.index, at) : [];
  const indexes: number[] = [];
  for (const [depth, loop] of loops.entries()) {
    const isShared = own[depth]?.name === loop.name && indexes.every((index, before) => index === at.indexes[before]);
    const shared = isShared ? at.indexes[depth] : undefined;
    const rounds = values.roundsOf(addressText({ unit, step: loop.name, indexes: [...indexes] }));
    indexes.push(shared ?? Math.max(0, rounds - 1));
  }
  return indexes;
}
