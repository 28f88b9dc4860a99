import type { JsonObject } from '../../domain/json.ts';
import { allSteps, isBlock, nestedLists, type ProgramDocument, type StepDocument } from '../../domain/program-document.ts';
import type { ProgramState } from '../../domain/program-run.ts';
import type { Reference } from '../references/reference.ts';
import { referencesIn } from '../references/references-in.ts';
import { type IndexedStep, indexOf, type ProgramIndex } from './program-index.ts';
import { bareReferences } from './reusable.ts';

/** A part of a program that refers to the output of a step. Without a step it is the unit itself, without a unit the output of the program. */
interface Use {
  /** The step that is referred to, as `unit.step`. */
  of: string;
  unit?: string;
  step?: string;
}

/** The uses of outputs in a program, by document. A document never changes. */
const known = new WeakMap<ProgramDocument, readonly Use[]>();

/** Returns the steps whose outputs a program refers to anywhere, as `unit.step`. */
export function namedOutputs(document: ProgramDocument): ReadonlySet<string> {
  return needed(document, () => false);
}

/** Returns the steps whose outputs a part of the program may still read that has not ended, as `unit.step`. */
export function neededOutputs({ document, units, steps }: Pick<ProgramState, 'document' | 'units' | 'steps'>): ReadonlySet<string> {
  const index = indexOf(document);
  const hasEnded = (status: string | undefined): boolean => status !== undefined && status !== 'running';
  return needed(document, ({ unit, step }) => {
    if (unit === undefined) return false;
    if (hasEnded(units.get(unit)?.status)) return true;
    if (step === undefined) return false;
    // A step that nothing repeats runs once, and nothing inside of it runs again after its end.
    return around(index, unit, step).some(
      ({ loops, step: { name } }) => loops.length === 0 && hasEnded(steps.get(`${unit}.${name}`)?.status),
    );
  });
}

/** Returns a step and the blocks around it. */
function around(index: ProgramIndex, unit: string, step: string): IndexedStep[] {
  const found: IndexedStep[] = [];
  for (let name: string | undefined = step; name !== undefined; name = found.at(-1)?.block) found.push(index.get(unit, name));
  return found;
}

function needed(document: ProgramDocument, isOver: (use: Omit<Use, 'of'>) => boolean): Set<string> {
  let uses = known.get(document);
  if (uses === undefined) known.set(document, (uses = usesIn(document)));
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
    uses.push(...referencesOf(step).flatMap(({ path }) => meanings(unit.name, path, by)));
    if (step.refine?.fallback !== undefined) uses.push({ of: `${unit.name}.${step.refine.fallback}`, ...by });
  }
  for (const { steps: _, ...unit } of document.units) {
    uses.push(...referencesOf(unit).flatMap(({ path }) => meanings(unit.name, path, { unit: unit.name })));
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
function referencesOf(part: StepDocument | object): Reference[] {
  const plain = part as JsonObject;
  return [...referencesIn(plain).map(({ reference }) => reference), ...bareReferences(plain)];
}
