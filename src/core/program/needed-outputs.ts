import { jsonBytes } from '../domain/byte-budgets.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import { allSteps, isBlock, nestedLists, type ProgramDocument, type StepDocument } from '../domain/program-document.ts';
import type { ProgramState, StepState } from '../domain/program-run.ts';
import { addressText, type IndexedStep, indexOf, type ProgramIndex, type StepAddress } from './program-index.ts';
import { bareReferences, type Lookup, type Reference, referencesIn } from './references.ts';

/** A part of a program that refers to the output of a step. Without a step it is the unit itself, without a unit the output of the program. */
interface Use {
  /** The step that is referred to, as `unit.step`. */
  of: string;
  unit?: string;
  step?: string;
}

/** The uses of outputs in a program, by document. A document never changes. */
const usesByDocument = new WeakMap<ProgramDocument, readonly Use[]>();

/** Returns the steps whose outputs a program refers to anywhere, as `unit.step`. */
export function namedOutputs(document: ProgramDocument): ReadonlySet<string> {
  return stepsInUse(document, () => false);
}

/** Returns the steps whose outputs a part of the program may still read that has not ended, as `unit.step`. */
export function neededOutputs({ document, units, steps }: Pick<ProgramState, 'document' | 'units' | 'steps'>): ReadonlySet<string> {
  const index = indexOf(document);
  const hasEnded = (status: string | undefined): boolean => status !== undefined && status !== 'running';
  return stepsInUse(document, ({ unit, step }) => {
    if (unit === undefined) return false;
    if (hasEnded(units.get(unit)?.status)) return true;
    if (step === undefined) return false;
    // A step that nothing repeats runs once, and nothing inside of it runs again after its end.
    return blocksAround(index, unit, step).some(
      ({ loops, step: { name } }) => loops.length === 0 && hasEnded(steps.get(`${unit}.${name}`)?.status),
    );
  });
}

function blocksAround(index: ProgramIndex, unit: string, step: string): IndexedStep[] {
  const found: IndexedStep[] = [];
  for (let name: string | undefined = step; name !== undefined; name = found.at(-1)?.block) found.push(index.get(unit, name));
  return found;
}

function stepsInUse(document: ProgramDocument, isOver: (use: Omit<Use, 'of'>) => boolean): Set<string> {
  let uses = usesByDocument.get(document);
  if (uses === undefined) usesByDocument.set(document, (uses = usesIn(document)));
  const names = new Set(uses.filter((use) => !isOver(use)).map(({ of }) => of));
  // The output of a block consists of those of the last steps inside. An outer block comes before those inside of it.
  for (const { unit, step } of allSteps(document)) {
    if (!isBlock(step) || !names.has(`${unit.name}.${step.name}`) || isOver({ unit: unit.name, step: step.name })) continue;
    for (const list of nestedLists(step)) names.add(`${unit.name}.${list.at(-1)?.name}`);
  }
  return names;
}

function usesIn(document: ProgramDocument): Use[] {
  const uses: Use[] = [];
  for (const { unit, step } of allSteps(document)) {
    const by = { unit: unit.name, step: step.name };
    uses.push(...referencesInPart(step).flatMap(({ path }) => meanings(unit.name, path, by)));
    if (step.refine?.fallback !== undefined) uses.push({ of: `${unit.name}.${step.refine.fallback}`, ...by });
  }
  for (const { steps: _, ...unit } of document.units) {
    uses.push(...referencesInPart(unit).flatMap(({ path }) => meanings(unit.name, path, { unit: unit.name })));
  }
  uses.push(...referencesIn(document.output).flatMap(({ reference }) => meanings('', reference.path, {})));
  const last = document.units.at(-1);
  if (document.output === undefined && last !== undefined) uses.push({ of: `${last.name}.${last.steps.at(-1)?.name}` });
  return uses;
}

/** Returns what the first names of a path may mean: a step of the unit, or a step of another unit. */
function meanings(unit: string, [first, second]: Reference['path'], by: Omit<Use, 'of'>): Use[] {
  return [`${unit}.${first}`, `${first}.${second}`].map((of) => ({ of, ...by }));
}

/** Returns the references in all texts of a step or a unit, with those that are written without braces. */
function referencesInPart(part: StepDocument | object): Reference[] {
  const plain = part as JsonObject;
  return [...referencesIn(plain).map(({ reference }) => reference), ...bareReferences(plain)];
}

/** The look-ups of the references of a step: in this run, and in the earlier one. */
interface BothLookups {
  now: Lookup;
  earlier: Lookup;
}

/**
 * Returns the output of a step in the earlier run if the step is the same: it comes before the one from which the run
 * starts again, its definition is equal, and so is every value that it refers to.
 */
export function reusableOutput(program: ProgramState, address: StepAddress, lookups: BothLookups): JsonValue | undefined {
  const { document, earlier, resume } = program;
  if (earlier === undefined || !comesBefore(document, address, resume?.from)) return undefined;
  const at = addressText(address);
  const found = earlier.outputs.find(([text]) => text === at);
  const step = indexOf(document).find(address.unit, address.step);
  const before = indexOf(earlier.document).find(address.unit, address.step);
  if (found === undefined || step === undefined || before === undefined) return undefined;
  if (definitionOf(document, step) !== definitionOf(earlier.document, before)) return undefined;
  return comparedReferences(step).every((reference) => hasEqualValue(reference, step, lookups)) ? found[1] : undefined;
}

/** True for a step before `from` in the order of the document. */
function comesBefore(document: ProgramDocument, { unit, step }: StepAddress, from: string | undefined): boolean {
  if (from === undefined) return true;
  const names = allSteps(document).map((one) => `${one.unit.name}.${one.step.name}`);
  const index = names.indexOf(from);
  return index < 0 || names.indexOf(`${unit}.${step}`) < index;
}

/** Returns everything about a step that its output depends on, except the values of its references. */
function definitionOf({ model, lenient }: ProgramDocument, { unit, step }: IndexedStep): string {
  const { name: _, needs: __, when: ___, steps: ____, ...surroundings } = unit;
  return canonicalJson(JSON.parse(JSON.stringify({ model, lenient, surroundings, step })) as JsonValue);
}

/** Returns the references in the step and in the texts of its unit, with those that are written without braces. */
function comparedReferences(indexed: IndexedStep): Reference[] {
  const values = comparedValues(indexed);
  return [...referencesIn(values).map(({ reference }) => reference), ...bareReferences(values)];
}

/** Returns the parts of a program whose references must have equal values in both runs: the step and the texts of its unit. */
export function comparedValues({ unit, step }: IndexedStep): JsonValue {
  const { persona, context, instructions } = unit;
  return [persona ?? '', context ?? '', instructions ?? '', JSON.parse(JSON.stringify(step)) as JsonObject];
}

/** True if a reference has the same value in both runs. Those to steps inside of the step itself depend on the others. */
function hasEqualValue(reference: Reference, { inside }: IndexedStep, { now, earlier }: BothLookups): boolean {
  const [first, second] = reference.path;
  if (inside.includes(first) || (typeof second === 'string' && inside.includes(second))) return true;
  const [a, b] = [now(reference), earlier(reference)];
  if (!a.found || !b.found) return a.found === b.found;
  return canonicalJson(a.value) === canonicalJson(b.value);
}

/** The end of the address that stands for the outputs of the items of a `forEach`. No address of a step has two dots. */
export const ITEMS_SUFFIX = '.items';

/** An output in the state of a program, as the next execution would be given it. */
export interface ContinuedOutput {
  /** The address of the step. It ends in `.items` for the outputs of the items of a running `forEach`. */
  address: string;
  /** The address of the step itself. */
  at: string;
  state: StepState;
  bytes: number;
}

/** Lists the outputs that a program would carry, the largest first. */
export function continuedOutputs({ steps }: Pick<ProgramState, 'steps'>): ContinuedOutput[] {
  const found = [...steps].flatMap(([at, state]) => [
    ...measured(at, { at, state }, state.output),
    ...measured(`${at}${ITEMS_SUFFIX}`, { at, state }, state.items),
  ]);
  return found.toSorted((a, b) => b.bytes - a.bytes);
}

function measured(address: string, step: Pick<ContinuedOutput, 'at' | 'state'>, value: JsonValue | undefined): ContinuedOutput[] {
  return value === undefined ? [] : [{ address, ...step, bytes: jsonBytes(value) }];
}
