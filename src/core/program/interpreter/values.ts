// Programs: the values of references.

import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { Lookup } from '../references/interpolate.ts';
import { readReference, type Reference } from '../references/reference.ts';
import { referencesIn } from '../references/references-in.ts';
import { outputAt, valueAt } from '../references/value-at.ts';
import { indexOf } from '../state/program-index.ts';
import { bareReferences } from '../state/reusable.ts';
import type { ProgramDocument } from '../../domain/program-document.ts';
import { addressText, parseAddress, type StepAddress } from '../state/address.ts';
import type { ProgramState } from '../../domain/program-run.ts';
import { UnitContext } from '../state/unit-context.ts';
import { type ListLoop, loopOfItem, resolveRoot, type RootValue, type ScopeValues } from '../state/scope.ts';

type Values = Pick<ProgramState, 'document' | 'input' | 'steps'>;

/** Returns the look-up of references as a step of a program sees them. */
export function lookupAt(program: Values, at: StepAddress): Lookup {
  return lookupIn(scopeOf(program), at);
}

/**
 * Returns the look-up of references in a scope. A step without an output, because it was skipped, has the value null; in a lenient
 * program a reference to it leads to nothing, as in AXON.
 */
export function lookupIn(values: ScopeValues, at: StepAddress): Lookup {
  return ({ path }) => {
    const root = rootOf(values, at, path);
    if (root === undefined || (root.value === undefined && values.index.document.lenient === true)) return { found: false };
    const rest = path.slice(root.names);
    return root.address === undefined ? valueAt(root.value ?? null, rest) : outputAt(root.value ?? null, rest);
  };
}

/** Resolves a text that is one reference, with or without braces; undefined if it resolves to nothing. */
export function resolveReference(program: Values, reference: string, at: StepAddress): JsonValue | undefined {
  return resolveList(scopeOf(program), reference, at);
}

/** Returns the ids of the outputs that the references of a value need, by the address of their step: an activity finds the outputs by them. */
export function outputIds(program: Values, at: StepAddress, value: JsonValue): Record<string, string> {
  const references = referencesIn(value).map(({ reference }) => reference);
  return Object.fromEntries(
    addressesOf(program, at, references).flatMap((address) => {
      const id = program.steps.get(address)?.outputId;
      return id === undefined ? [] : [[address, id]];
    }),
  );
}

/** Returns the addresses of the steps whose outputs the references of a value need, with those that are written without braces. */
export function neededAddresses(program: Values, at: StepAddress, value: JsonValue): string[] {
  return addressesOf(program, at, [...referencesIn(value).map(({ reference }) => reference), ...bareReferences(value)]);
}

/** Returns the addresses of the steps to whose outputs references lead. The list of a `forEach` is needed for its item. */
function addressesOf(program: Values, at: StepAddress, references: readonly Reference[]): string[] {
  // Addresses do not depend on values, which may be in the payload store.
  const values: ScopeValues = { ...scopeOf(program), outputOf: () => null };
  const addresses = new Set<string>();
  const add = (reference: Reference, from: StepAddress): void => {
    const loop: ListLoop | undefined = loopOfItem(values.index, from, reference.path[0]);
    const list = loop === undefined ? undefined : readReference(loop.in);
    if (loop !== undefined && list !== undefined) return add(list, loop.at);
    const address = rootOf(values, from, reference.path)?.address;
    if (address !== undefined) addresses.add(address);
  };
  for (const reference of references) add(reference, at);
  return [...addresses];
}

/** The variable of a context that holds the input of the program. */
const INPUT = 'input';

/** Makes a context of the input of a program, and of outputs by the address of their step. */
export function contextOf(input: JsonObject, outputs: Iterable<readonly [address: string, output: JsonValue]>): UnitContext {
  const context = new UnitContext();
  context.setVariable(INPUT, input);
  for (const [address, output] of outputs) context.setResult(address, output);
  return context;
}

/**
 * Returns the look-up of references at a step, from the outputs that its references name: an activity has them in a context, by the
 * address of their step.
 */
export function lookupOf(document: ProgramDocument, context: UnitContext, at: StepAddress): Lookup {
  const values: ScopeValues = {
    index: indexOf(document),
    input: context.variable(INPUT),
    outputOf: (address) => (context.hasResult(address) ? context.result(address) : undefined),
    roundsOf: (address) => lastRound(context.completedSteps, address),
    resolve: (reference, from) => resolveList(values, reference, from),
  };
  return lookupIn(values, at);
}

/** Returns the number of rounds of a `repeat`, as the addresses of the outputs tell it. */
function lastRound(outputs: readonly string[], address: string): number {
  const { unit, indexes } = parseAddress(address);
  const depth = indexes.length;
  let rounds = 0;
  for (const text of outputs) {
    const one = parseAddress(text);
    const isInside = one.unit === unit && indexes.every((index, at) => one.indexes[at] === index);
    if (isInside) rounds = Math.max(rounds, (one.indexes[depth] ?? -1) + 1);
  }
  return rounds;
}

/** Makes the scope of a program from the outputs that its steps have. */
export function scopeOf({ document, input, steps }: Values): ScopeValues {
  const values: ScopeValues = {
    index: indexOf(document),
    input,
    outputOf: (address) => {
      const { output, spilled } = steps.get(address) ?? {};
      if (output === undefined && spilled !== undefined) throw new TypeError(`The output of step "${address}" was not loaded`);
      return output;
    },
    roundsOf: (address) => steps.get(address)?.rounds ?? 0,
    resolve: (reference, at) => resolveList(values, reference, at),
  };
  return values;
}

function resolveList(values: ScopeValues, text: string, at: StepAddress): JsonValue | undefined {
  const reference = readReference(text);
  const found = reference === undefined ? undefined : lookupIn(values, at)(reference);
  return found?.found ? found.value : undefined;
}

function rootOf(values: ScopeValues, at: StepAddress, path: Reference['path']): RootValue | undefined {
  const [first, second] = path;
  return resolveRoot(values, at, typeof second === 'string' ? [first, second] : [first]);
}

/** Forgets the steps inside a block, in one of its items or rounds, which no reference can name any more. */
export function forgetInside({ steps, document }: Pick<ProgramState, 'steps' | 'document'>, { unit, step, indexes }: StepAddress): void {
  for (const name of indexOf(document).get(unit, step).inside) {
    const address = addressText({ unit, step: name, indexes });
    steps.delete(address);
    for (const at of steps.keys()) if (at.startsWith(`${address}[`)) steps.delete(at);
  }
}
