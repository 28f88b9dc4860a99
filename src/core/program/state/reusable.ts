import { canonicalJson, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { allSteps, type ProgramDocument } from '../../domain/program-document.ts';
import type { ProgramState } from '../../domain/program-run.ts';
import type { Lookup } from '../references/interpolate.ts';
import { readReference, type Reference } from '../references/reference.ts';
import { referencesIn } from '../references/references-in.ts';
import { addressText, type StepAddress } from './address.ts';
import { type IndexedStep, indexOf } from './program-index.ts';

/** The look-ups of the references of a step: in this run, and in the earlier one. */
export interface BothLookups {
  now: Lookup;
  earlier: Lookup;
}

/**
 * Returns the output of a step in the earlier run if the step is the same: it comes before the one from which the run
 * starts again, its definition is equal, and so is every value that it refers to.
 */
export function reusableOutput(program: ProgramState, address: StepAddress, lookups: BothLookups): JsonValue | undefined {
  const { document, earlier, resume } = program;
  if (earlier === undefined || !isBefore(document, address, resume?.from)) return undefined;
  const at = addressText(address);
  const found = earlier.outputs.find(([text]) => text === at);
  const step = indexOf(document).find(address.unit, address.step);
  const before = indexOf(earlier.document).find(address.unit, address.step);
  if (found === undefined || step === undefined || before === undefined) return undefined;
  if (definitionOf(document, step) !== definitionOf(earlier.document, before)) return undefined;
  return referencesOf(step).every((reference) => isEqual(reference, step, lookups)) ? found[1] : undefined;
}

/** True for a step before `from` in the order of the document. */
function isBefore(document: ProgramDocument, { unit, step }: StepAddress, from: string | undefined): boolean {
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
function referencesOf(indexed: IndexedStep): Reference[] {
  const values = comparedValues(indexed);
  return [...referencesIn(values).map(({ reference }) => reference), ...bareReferences(values)];
}

/** Returns the parts of a program whose references must have equal values in both runs: the step and the texts of its unit. */
export function comparedValues({ unit, step }: IndexedStep): JsonValue {
  const { persona, context, instructions } = unit;
  return [persona ?? '', context ?? '', instructions ?? '', JSON.parse(JSON.stringify(step)) as JsonObject];
}

/** Returns the references without braces: those of conditions and of lists. */
export function bareReferences(value: JsonValue): Reference[] {
  if (Array.isArray(value)) return value.flatMap(bareReferences);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const own = (key === 'of' || key === 'in') && typeof member === 'string' ? readReference(member) : undefined;
    return [...(own === undefined ? [] : [own]), ...bareReferences(member)];
  });
}

/** True if a reference has the same value in both runs. Those to steps inside of the step itself depend on the others. */
function isEqual(reference: Reference, { inside }: IndexedStep, { now, earlier }: BothLookups): boolean {
  const [first, second] = reference.path;
  if (inside.includes(first) || (typeof second === 'string' && inside.includes(second))) return true;
  const [a, b] = [now(reference), earlier(reference)];
  if (!a.found || !b.found) return a.found === b.found;
  return canonicalJson(a.value) === canonicalJson(b.value);
}
