import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import { allSteps, type ProgramDocument, type StepDocument } from '../domain/program-document.ts';
import type { ProgramState } from '../domain/program-run.ts';
import { addressText, type IndexedStep, indexOf, type StepAddress } from './program-index.ts';
import { beginStep, endStep, type ProgramRun, type RunningStep, type StepList, type StepsEnd } from './program-run.ts';
import { fallbackOf } from './refine.ts';
import { bareReferences, contextOf, type Lookup, lookupAt, lookupOf, readReference, type Reference, referencesIn } from './references.ts';

// Programs: results of an earlier run.

/**
 * Ends a step with its output from the earlier run, if the step is the same. Returns false for any other step, and for a block with steps
 * that others outside of it name: it runs, and its steps are reused, so that these find their outputs.
 */
export function reuse(run: ProgramRun, running: RunningStep): boolean {
  const output = reusableOutput(run.program, running.address);
  if (output === undefined || isNamedInside(run.program.document, running.address)) return false;
  endReused(run, running, output);
  return true;
}

function endReused(run: ProgramRun, running: RunningStep, output: JsonValue): void {
  endStep(run, running, { status: 'completed', output, outputId: run.ports.uuid(), reused: true });
}

/** Ends an item of a `forEach` with its output from the earlier run: its last step is marked as reused, and the others do not begin. */
export async function reuseItem(run: ProgramRun, { unit, steps, indexes }: StepList, output: JsonValue): Promise<StepsEnd> {
  const last = steps.at(-1);
  if (last === undefined) return 'completed';
  if (run.stop !== undefined) return 'stopped';
  const turn = run.turns.next(run);
  if (turn !== undefined && !(await turn)) return 'stopped';
  endReused(run, beginStep(run, { unit, step: last.name, indexes }), output);
  return 'completed';
}

/**
 * Returns a step's output from the earlier run if the step is the same: it comes before the step from which the run starts again, and its
 * definition and all referenced values are equal. The output of a fallback must be of the same fallback.
 */
function reusableOutput(program: ProgramState, address: StepAddress): JsonValue | undefined {
  const outputs = program.earlier?.outputs;
  const output = resultAt(outputs, address);
  if (output === undefined || !isSameStep(program, address, comparedValues)) return undefined;
  const fallback = fallbackOf(indexOf(program.document).get(address.unit, address.step).step.refine ?? {});
  if (fallback === undefined) return output;
  const other = { ...address, step: fallback };
  return isEqual(resultAt(outputs, other), output) ? reusableOutput(program, other) : output;
}

/** Returns a function that returns an item's output from the earlier run, if both the `forEach` and the item are the same. */
export function reusableItems(
  program: ProgramState,
  address: StepAddress,
  list: readonly JsonValue[],
): (index: number) => JsonValue | undefined {
  const { earlier } = program;
  const outputs = itemsBefore(program, address);
  if (earlier === undefined || outputs === undefined || !isSameStep(program, address, comparedForItems)) return () => undefined;
  const { step } = indexOf(program.document).get(address.unit, address.step);
  const reference = readReference(step.forEach?.in ?? '');
  const found = reference === undefined ? undefined : earlierLookup(program, address)(reference);
  const before = found?.found ? found.value : undefined;
  if (!Array.isArray(before)) return () => undefined;
  return (index) => {
    const output = outputs[index];
    return output !== undefined && isEqual(before[index], list[index]) ? output : undefined;
  };
}

/** Returns the outputs of the items that ended in the earlier run, by index. */
function itemsBefore({ earlier }: ProgramState, address: StepAddress): Readonly<Record<number, JsonValue>> | undefined {
  const items = resultAt(earlier?.items, address);
  if (items !== undefined) return items;
  const output = resultAt(earlier?.outputs, address);
  return Array.isArray(output) ? output : undefined;
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
      return [...referencesIn(value).map(({ reference }) => reference), ...bareReferences(value)].some((one) => isNamed(one, unit));
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
  if (!results.some(([text]) => text === at)) return null;
  const indexed = indexOf(document).get(address.unit, address.step);
  const fallback = fallbackOf(indexed.step.refine ?? {});
  const other = fallback === undefined ? undefined : indexOf(document).find(address.unit, fallback);
  return [comparedValues(indexed), other === undefined ? null : neededToReuse(program, { ...address, step: other.step.name })];
}

/** True for a step whose definition and references are those of the earlier run, and that does not have to run again. */
function isSameStep(program: ProgramState, address: StepAddress, compared: (indexed: IndexedStep) => JsonValue): boolean {
  const { document, earlier, resume } = program;
  const step = indexOf(document).find(address.unit, address.step);
  const before = earlier === undefined ? undefined : indexOf(earlier.document).find(address.unit, address.step);
  if (earlier === undefined || step === undefined || before === undefined) return false;
  if (!comesBefore(document, step, resume?.from) || definitionOf(document, step) !== definitionOf(earlier.document, before)) return false;
  const lookups = { now: lookupAt(program, address), earlier: earlierLookup(program, address) };
  const values = compared(step);
  const references = [...referencesIn(values).map(({ reference }) => reference), ...bareReferences(values)];
  return references.every((reference) => hasEqualValue(reference, step, lookups));
}

/** True for a step that comes before `from` in document order and does not contain it. */
function comesBefore(document: ProgramDocument, { unit, step, inside }: IndexedStep, from: string | undefined): boolean {
  if (from === undefined) return true;
  const names = allSteps(document).map((one) => `${one.unit.name}.${one.step.name}`);
  const contains = inside.some((name) => `${unit.name}.${name}` === from);
  return !contains && names.indexOf(`${unit.name}.${step.name}`) < names.indexOf(from);
}

function earlierLookup({ earlier }: ProgramState, at: StepAddress): Lookup {
  if (earlier === undefined) return () => ({ found: false });
  return lookupOf(earlier.document, contextOf(earlier.input, earlier.outputs), at);
}

/** Returns the part of a step's definition that determines its output, except the values of its references. */
function definitionOf({ model, lenient }: ProgramDocument, { unit, step }: IndexedStep): string {
  const { name: _, needs: __, when: ___, steps: ____, ...surroundings } = unit;
  return canonicalJson(JSON.parse(JSON.stringify({ model, lenient, surroundings, step })) as JsonValue);
}

/** Returns the parts of a program whose references must have equal values in both runs: the step and its unit's texts. */
function comparedValues({ unit, step }: Pick<IndexedStep, 'unit' | 'step'>): JsonValue {
  const { persona, context, instructions } = unit;
  return [persona ?? '', context ?? '', instructions ?? '', JSON.parse(JSON.stringify(step)) as JsonObject];
}

/** Returns the same parts for the items of a `forEach`, without its list: of that, each item is compared by itself. */
function comparedForItems({ unit, step }: IndexedStep): JsonValue {
  const { forEach, ...others } = step;
  return comparedValues({ unit, step: { ...others, ...(forEach && { forEach: { ...forEach, in: '' } }) } as StepDocument });
}

/** The look-ups for a step's references: in this run, and in the earlier one. */
interface BothLookups {
  now: Lookup;
  earlier: Lookup;
}

/** True if a reference has the same value in both runs. References to steps inside the step itself depend on the others. */
function hasEqualValue(reference: Reference, { unit, inside }: IndexedStep, { now, earlier }: BothLookups): boolean {
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
