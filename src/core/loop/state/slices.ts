import type { AgentSnapshot } from '../../domain/agent.ts';
import type { Shape } from '../../domain/shape.ts';

// Shared state: the parts of it that capabilities own.

/** The slices of a run by their names. Plain JSON; a name is here only while its slice has a value. */
export type Slices = Record<string, unknown>;

/** A run, or its carried state, from which a slice can be read. */
export interface WithSlices {
  slices?: Slices;
}

interface SliceOptions<Value> {
  /** Returns the value that a run begins with, by its agent. Undefined: none. */
  initial?(snapshot: AgentSnapshot): Value | undefined;
  /** The value exists only while the run cannot continue as new: it is not carried. */
  isPassing?: true;
  /** Returns the bytes of JSON that the value takes in the carried state. Absent: it is small, and in the reserve for small things. */
  bytes?(value: Value): number;
}

/** One value in the state of a run that a single capability reads and writes. It carries over as it is. */
export class Slice<Value> {
  readonly name: string;
  /** The form of its value, by which tests check what is carried. */
  readonly shape: Shape<Value>;
  readonly options: SliceOptions<Value>;

  constructor(name: string, shape: Shape<Value>, options: SliceOptions<Value>) {
    this.name = name;
    this.shape = shape;
    this.options = options;
  }

  /** Returns the value; undefined if there is none. */
  of({ slices }: WithSlices): Value | undefined {
    return slices?.[this.name] as Value | undefined;
  }

  set({ slices }: Required<WithSlices>, value: Value): void {
    slices[this.name] = value;
  }

  clear({ slices }: Required<WithSlices>): void {
    delete slices[this.name];
  }

  /** Returns the bytes that the value takes in the carried state, as far as they are counted. */
  bytesIn(run: WithSlices): number {
    const value = this.of(run);
    return value === undefined ? 0 : (this.options.bytes?.(value) ?? 0);
  }
}

/** Declares a slice. The one who declares it lists it in its capability, and keeps it to itself. */
export function slice<Value>(name: string, shape: Shape<Value>, options: SliceOptions<Value> = {}): Slice<Value> {
  return new Slice(name, shape, options);
}

/** The slices of all capabilities, in their order. Set once, when the capabilities are composed. */
let known: readonly Slice<unknown>[] | undefined;

/** Makes the slices of all capabilities known. Once in a process: a run has the same ones wherever it is read. */
export function declareSlices(slices: readonly Slice<unknown>[]): void {
  const twice = slices.find(({ name }, index) => slices.findIndex((one) => one.name === name) !== index);
  if (twice !== undefined) throw new TypeError(`Two slices have the name "${twice.name}"`);
  known = slices;
}

/** Returns the slices of all capabilities. Throws if none are composed: a run would silently lack them. */
export function knownSlices(): readonly Slice<unknown>[] {
  if (known === undefined) throw new TypeError('No capabilities are composed: import "src/core/capabilities.ts" before a run begins');
  return known;
}

/** Returns the slices that a run with this agent begins with. */
export function initialSlices(snapshot: AgentSnapshot): Slices {
  const slices: Slices = {};
  for (const one of knownSlices()) {
    const value = one.options.initial?.(snapshot);
    if (value !== undefined) one.set({ slices }, value);
  }
  return slices;
}

/** Returns the slices that are carried into the next execution; no field if there are none. */
export function carriedSlices(run: WithSlices): WithSlices {
  const slices: Slices = {};
  for (const one of knownSlices()) {
    const value = one.options.isPassing ? undefined : one.of(run);
    if (value !== undefined) one.set({ slices }, value);
  }
  return Object.keys(slices).length === 0 ? {} : { slices };
}

/** Returns the slices of a carried state. */
export function resumedSlices({ slices = {} }: WithSlices): Slices {
  return { ...slices };
}

/** Returns the bytes that slices take in the carried state, as far as they are counted. */
export function sliceBytes(run: WithSlices): number {
  let bytes = 0;
  for (const one of knownSlices()) bytes += one.bytesIn(run);
  return bytes;
}
