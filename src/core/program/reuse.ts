import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import { allSteps, type ProgramDocument, type StepDocument } from '../domain/program-document.ts';
import type { EarlierRun, ProgramState } from '../domain/program-run.ts';
import { addressText, type IndexedStep, indexOf, parseAddress, type StepAddress } from './program-index.ts';
import { beginStep, endStep, type ProgramRun, type RunningStep, type StepList, type StepsEnd } from './program-run.ts';
import { fallbackOf } from './refine.ts';
import {
  bareReferences,
  contextOf,
  type Lookup,
  lookupAt,
  lookupOf,
  neededAddresses,
  readReference,
  type Reference,
  referencesIn,
} from './references.ts';

// Programs: results of an earlier run.

/**
 * Ends a step with its output from the earlier run, if the step is the same. Returns false for any other step, and for a block with steps
 * that others outside of it name: it runs, and its steps are reused, so that these find their outputs.
 */
export function reuse(run: ProgramRun, running: RunningStep): boolean {
  const result = reusableResult(run.program, running.address);
  if (result === undefined || isNamedInside(run.program.document, running.address)) return false;
  endReused(run, running, result);
  return true;
}

/** A result of an earlier run. Without an output, the run dropped it when it continued as new: only that the step has completed is known. */
interface EarlierResult {
  output?: JsonValue;
}

function endReused(run: ProgramRun, running: RunningStep, { output }: EarlierResult): void {
  const kept = output === undefined ? { outputForgotten: true as const } : { output };
  endStep(run, running, { status: 'completed', ...kept, outputId: run.ports.uuid(), reused: true });
}

/** Ends an item of a `forEach` with its result from the earlier run: its last step is marked as reused, and the others do not begin. */
export async function reuseItem(run: ProgramRun, { unit, steps, indexes }: StepList, result: EarlierResult): Promise<StepsEnd> {
  const last = steps.at(-1);
  if (last === undefined) return 'completed';
  if (run.stop !== undefined) return 'stopped';
  const turn = run.turns.next(run);
  if (turn !== undefined && !(await turn)) return 'stopped';
  endReused(run, beginStep(run, { unit, step: last.name, indexes }), result);
  return 'completed';
}

/**
 * Returns a step's result from the earlier run if the step is the same: it comes before the step from which the run starts again, and its
 * definition and all referenced values are equal. The output of a fallback must be of the same fallback.
 */
function reusableResult(program: ProgramState, address: StepAddress): EarlierResult | undefined {
  const { earlier } = program;
  const result = resultOf(earlier, address);
  if (result === undefined || !isSameStep(program, address, comparedValues)) return undefined;
  const fallback = fallbackOf(indexOf(program.document).get(address.unit, address.step).step.refine ?? {});
  // Whether a dropped output was that of the fallback is not known, and its step must not act twice.
  if (fallback === undefined || result.output === undefined) return result;
  const other = { ...address, step: fallback };
  const taken = resultOf(earlier, other);
  const mayBeTaken = taken !== undefined && (taken.output === undefined || isEqual(taken.output, result.output));
  return mayBeTaken && reusableResult(program, other) === undefined ? undefined : result;
}

/** Returns the result of a step that completed in the earlier run. */
function resultOf(earlier: EarlierRun | undefined, address: StepAddress): EarlierResult | undefined {
  const output = resultAt(earlier?.outputs, address);
  if (output !== undefined) return { output };
  const isUnfinished = resultAt(earlier?.items, address) !== undefined;
  return !isUnfinished && isDropped(earlier, address) ? {} : undefined;
}

/** True for a step that completed in the earlier run without an output that is known, and for a `forEach` with such items. */
function isDropped(earlier: EarlierRun | undefined, address: StepAddress): boolean {
  return earlier?.dropped?.includes(addressText(address)) === true;
}

/** Returns a function that returns an item's result from the earlier run, if both the `forEach` and the item are the same. */
export function reusableItems(
  program: ProgramState,
  address: StepAddress,
  list: readonly JsonValue[],
): (index: number) => EarlierResult | undefined {
  const { earlier } = program;
  if (earlier === undefined || !isSameStep(program, address, comparedForItems)) return () => undefined;
  const { step } = indexOf(program.document).get(address.unit, address.step);
  const reference = readReference(step.forEach?.in ?? '');
  const found = reference === undefined ? undefined : earlierLookup(program, address)(reference);
  const before = found?.found ? found.value : undefined;
  const outputs = Array.isArray(before) ? itemsBefore(earlier, address, before) : undefined;
  if (!Array.isArray(before) || outputs === undefined) return () => undefined;
  const lacksSome = isDropped(earlier, address);
  return (index) => {
    const output = outputs[index];
    if (output === undefined || !isEqual(before[index], list[index])) return undefined;
    return lacksSome && output === null ? {} : { output };
  };
}

/** Returns the outputs of the items that ended in the earlier run, by index. Null for dropped ones. */
function itemsBefore(
  earlier: EarlierRun,
  address: StepAddress,
  list: readonly JsonValue[],
): Readonly<Record<number, JsonValue>> | undefined {
  const items = resultAt(earlier.items, address);
  if (items !== undefined) return items;
  const output = resultAt(earlier.outputs, address);
  if (Array.isArray(output)) return output;
  return isDropped(earlier, address) ? list.map(() => null) : undefined;
}

/** Returns the number of rounds of a `repeat` that began in the earlier run, if it is the same: the last of them is the first to run. */
export function roundsBefore(program: ProgramState, address: StepAddress): number | undefined {
  const rounds = resultAt(program.earlier?.rounds, address);
  return rounds !== undefined && isSameStep(program, address, comparedValues) ? rounds : undefined;
}

/** For each block of a document, whether a step outside of it names one inside. A document never changes. */
const namedInside = new WeakMap<StepDocument, boolean>();

/** True for a block with a step that one outside of it names, or the program's output, or a unit. */
function isNamedInside(document: ProgramDocument, { unit: name, step: blockName }: StepAddress): boolean {
  const { step: block, inside } = indexOf(document).get(name, blockName);
  const known = namedInside.get(block);
  if (known !== undefined) return known;
  const visible = new Set(visibleAfter(block));
  const others = allSteps(document).filter(({ unit, step }) => unit.name !== name || (step !== block && !inside.includes(step.name)));
  const parts = [
    ...others.map(({ unit, step }) => ({ unit: unit.name, part: withoutLists(step) })),
    ...document.units.map(({ steps: _, ...unit }) => ({ unit: unit.name, part: unit })),
    { unit: '', part: { output: document.output ?? null } },
  ];
  const isNamed = ({ path: [first, second] }: Reference, unit: string): boolean =>
    (unit === name && visible.has(first)) || (first === name && typeof second === 'string' && visible.has(second));
  const found =
    visible.size > 0 &&
    parts.some(({ unit, part }) => {
      const value = JSON.parse(JSON.stringify(part)) as JsonObject;
      return allReferences(value).some((one) => isNamed(one, unit));
    });
  namedInside.set(block, found);
  return found;
}

/** Returns the names of the steps inside a block that have certainly run after it. */
function visibleAfter({ parallel, repeat }: StepDocument): string[] {
  const lists = parallel?.branches ?? (repeat === undefined ? [] : [repeat.steps]);
  return lists.flat().flatMap((step) => [step.name, ...visibleAfter(step)]);
}

/** Returns a step without the steps inside it: of a block, its conditions and its list. */
function withoutLists({ when, parallel: _, branch, forEach, repeat, ...others }: StepDocument): object {
  return { ...others, when, cases: branch?.cases.map((one) => ({ when: one.when })), in: forEach?.in, until: repeat?.until };
}

/** Returns what an earlier run has for a step. */
function resultAt<Result>(results: readonly (readonly [address: string, Result])[] | undefined, address: StepAddress): Result | undefined {
  const at = addressText(address);
  return results?.find(([text]) => text === at)?.[1];
}

/** Returns a value with the references that decide whether the result of a step is reused; null if the earlier run has none. */
export function neededToReuse(program: ProgramState, address: StepAddress): JsonValue {
  const { document, earlier } = program;
  const at = addressText(address);
  const results = [...(earlier?.outputs ?? []), ...(earlier?.items ?? []), ...(earlier?.rounds ?? [])];
  if (!results.some(([text]) => text === at) && !isDropped(earlier, address)) return null;
  const indexed = indexOf(document).get(address.unit, address.step);
  const fallback = fallbackOf(indexed.step.refine ?? {});
  const other = fallback === undefined ? undefined : indexOf(document).find(address.unit, fallback);
  return [comparedValues(indexed), other === undefined ? null : neededToReuse(program, { ...address, step: other.step.name })];
}

/** True for a step whose definition and references are those of the earlier run, and that does not have to run again. */
function isSameStep(program: ProgramState, address: StepAddress, compared: (indexed: IndexedStep) => JsonValue): boolean {
  const step = indexOf(program.document).find(address.unit, address.step);
  if (step === undefined || !hasSameDefinition(program, address)) return false;
  const lookups = { now: lookupAt(program, address), earlier: earlierLookup(program, address) };
  const values = compared(step);
  if (!areDroppedNow(program, address, neededAddresses(program, address, values))) return false;
  return allReferences(values).every((reference) => hasEqualValue(reference, step, lookups));
}

/** True if those of the given outputs that the earlier run dropped are missing in this run too: their steps were reused. */
function areDroppedNow({ document, earlier, steps }: ProgramState, at: StepAddress, addresses: readonly string[]): boolean {
  const { inside } = indexOf(document).get(at.unit, at.step);
  return addresses.every((address) => {
    const one = parseAddress(address);
    if (!isDropped(earlier, one) || (one.unit === at.unit && inside.includes(one.step))) return true;
    const state = steps.get(address);
    return state?.reused === true && state.outputForgotten === true;
  });
}

/** True for a step whose definition is that of the earlier run, and that comes before the step from which the run starts again. */
export function hasSameDefinition(
  { document, earlier, resume }: ProgramState,
  { unit, step: name }: Omit<StepAddress, 'indexes'>,
): boolean {
  const step = indexOf(document).find(unit, name);
  const before = earlier === undefined ? undefined : indexOf(earlier.document).find(unit, name);
  if (earlier === undefined || step === undefined || before === undefined) return false;
  return comesBefore(document, step, resume?.from) && definitionOf(document, step) === definitionOf(earlier.document, before);
}

export function allReferences(value: JsonValue): Reference[] {
  return [...referencesIn(value).map(({ reference }) => reference), ...bareReferences(value)];
}

/** True for a step that comes before `from` in document order and does not contain it. */
function comesBefore(document: ProgramDocument, { unit, step, inside }: IndexedStep, from: string | undefined): boolean {
  if (from === undefined) return true;
  const names = allSteps(document).map((one) => `${one.unit.name}.${one.step.name}`);
  const contains = inside.some((name) => `${unit.name}.${name}` === from);
  return !contains && names.indexOf(`${unit.name}.${step.name}`) < names.indexOf(from);
}

/** Returns the look-up for references of a step in the earlier run. A lenient program may refer to steps that began after it: it saw none. */
export function earlierLookup({ earlier }: Pick<ProgramState, 'earlier'>, at: StepAddress): Lookup {
  if (earlier === undefined) return () => ({ found: false });
  const { document, input, outputs, order = [] } = earlier;
  const later = new Set(order.slice(order.indexOf(addressText(at)) + 1));
  const isKnown = order.includes(addressText(at));
  return lookupOf(document, contextOf(input, isKnown ? outputs.filter(([address]) => !later.has(address)) : outputs), at);
}

/** Returns the part of a step's definition that determines its output, except the values of its references. */
function definitionOf({ model, lenient }: ProgramDocument, { unit, step }: IndexedStep): string {
  const { name: _, needs: __, when: ___, steps: ____, ...surroundings } = unit;
  return canonicalJson(JSON.parse(JSON.stringify({ model, lenient, surroundings, step: withoutPace(step) })) as JsonValue);
}

/** Returns a step without the numbers of items that run at once: they change no output. */
function withoutPace(step: StepDocument): object {
  const { parallel, branch, forEach, repeat } = step;
  const listOf = (steps: readonly StepDocument[]): object[] => steps.map(withoutPace);
  if (parallel !== undefined) return { ...step, parallel: { ...parallel, branches: parallel.branches.map(listOf) } };
  if (repeat !== undefined) return { ...step, repeat: { ...repeat, steps: listOf(repeat.steps) } };
  if (forEach !== undefined) return { ...step, forEach: { ...forEach, atOnce: undefined, steps: listOf(forEach.steps) } };
  if (branch === undefined) return step;
  const cases = branch.cases.map((one) => ({ ...one, steps: listOf(one.steps) }));
  return { ...step, branch: { ...branch, cases, ...(branch.else && { else: listOf(branch.else) }) } };
}

/** Returns the parts of a program whose references must have equal values in both runs: the step and its unit's texts. */
export function comparedValues({ unit, step }: Pick<IndexedStep, 'unit' | 'step'>): JsonValue {
  const { persona, context, instructions } = unit;
  return [persona ?? '', context ?? '', instructions ?? '', JSON.parse(JSON.stringify(step)) as JsonObject];
}

/** Returns the same parts for the items of a `forEach`, without its list: of that, each item is compared by itself. */
function comparedForItems({ unit, step }: IndexedStep): JsonValue {
  const { forEach, ...others } = step;
  return comparedValues({ unit, step: { ...others, ...(forEach && { forEach: { ...forEach, in: '' } }) } as StepDocument });
}

/** The look-ups for a step's references: in this run, and in the earlier one. */
export interface BothLookups {
  now: Lookup;
  earlier: Lookup;
}

/** True if a reference has the same value in both runs. References to steps inside the step itself depend on the others. */
export function hasEqualValue(reference: Reference, { unit, inside }: IndexedStep, { now, earlier }: BothLookups): boolean {
  const [first, second] = reference.path;
  // After any other name, the second one is a field or a step of another unit.
  const name = first === unit.name ? second : first;
  if (typeof name === 'string' && inside.includes(name)) return true;
  const [a, b] = [now(reference), earlier(reference)];
  if (!a.found || !b.found) return a.found === b.found;
  return isEqual(a.value, b.value);
}

function isEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b);
}
