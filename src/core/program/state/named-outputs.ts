import type { JsonObject } from '../../domain/json/json.ts';
import { allSteps } from '../../domain/program/all-steps.ts';
import { isBlock, type ProgramDocument, type StepDocument } from '../../domain/program/document.ts';
import { nestedLists } from '../../domain/program/nested-lists.ts';
import type { Reference } from '../references/reference.ts';
import { referencesIn } from '../references/references-in.ts';
import { bareReferences } from './reusable.ts';

/** The steps that a program names, by document. A document never changes. */
const known = new WeakMap<ProgramDocument, ReadonlySet<string>>();

/** Returns the steps whose outputs a program refers to, as `unit.step`. The outputs of all others are needed by nothing. */
export function namedOutputs(document: ProgramDocument): ReadonlySet<string> {
  let names = known.get(document);
  if (names === undefined) known.set(document, (names = collect(document)));
  return names;
}

function collect(document: ProgramDocument): Set<string> {
  const names = new Set<string>();
  const steps = allSteps(document);
  for (const { unit, step } of steps) for (const { path } of referencesOf(step)) addNames(names, unit.name, path);
  for (const { steps: _, ...unit } of document.units) {
    for (const { path } of referencesOf(unit)) addNames(names, unit.name, path);
  }
  for (const { reference } of referencesIn(document.output)) addNames(names, '', reference.path);
  const last = document.units.at(-1);
  if (document.output === undefined && last !== undefined) names.add(`${last.name}.${last.steps.at(-1)?.name}`);
  // The output of a block consists of those of the last steps inside. An outer block comes before those inside of it.
  for (const { unit, step } of steps) {
    if (!isBlock(step) || !names.has(`${unit.name}.${step.name}`)) continue;
    for (const list of nestedLists(step)) names.add(`${unit.name}.${list.at(-1)?.name}`);
  }
  return names;
}

/** Adds what the first names of a path may mean: a step of the unit, or a step of another unit. */
function addNames(names: Set<string>, unit: string, [first, second]: Reference['path']): void {
  names.add(`${unit}.${first}`);
  names.add(`${first}.${second}`);
}

/** Returns the references in all texts of a step or a unit, with those that are written without braces. */
function referencesOf(part: StepDocument | object): Reference[] {
  const plain = part as JsonObject;
  return [...referencesIn(plain).map(({ reference }) => reference), ...bareReferences(plain)];
}
