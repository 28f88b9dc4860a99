import { isBlock, type StepDocument } from '../domain/program-document.ts';
import type { ProgramState } from '../domain/program-run.ts';
import { blocksAround, indexOf, parseAddress, type StepAddress } from './program-index.ts';
import { bareReferences, lookupAt } from './references.ts';
import { allReferences, comparedValues, earlierLookup, hasEqualValue, hasSameDefinition } from './reuse.ts';
import { stepOfAddress, type Use, usesOf } from './stored-outputs.ts';

// Programs: outputs that the earlier run dropped when it continued as new.

/**
 * Returns why a run cannot resume an earlier one: a step that would be reused has no output any more, and a part of the program that runs
 * again refers to it. To run the step again would repeat its effects, which only a person can want. Whether a step runs again can also
 * depend on values of this run: `lackingOutput` finds the others.
 */
export function droppedProblem(program: ProgramState): { code: 'invalid_input'; message: string } | undefined {
  const { earlier, resume } = program;
  if (earlier?.dropped === undefined) return undefined;
  const kept = new KeptSteps(program);
  for (const address of earlier.dropped) {
    const at = parseAddress(address);
    if (!kept.isUnchanged(at)) continue;
    const use = usesOf(program.document).find((one) => one.of === stepOfAddress(address) && !kept.isReused(one, at));
    if (use === undefined) continue;
    const message =
      `Run "${resume?.run}" cannot be resumed here: its step "${address}" has completed, but its output was too large to keep, and ` +
      `${nameOf(use)} refers to it. Resume from "${at.unit}.${at.step}" ("from") to run it and all later steps again, with their effects, ` +
      'or remove the reference';
    return { code: 'invalid_input', message };
  }
  return undefined;
}

function nameOf({ unit, step }: Use): string {
  if (unit === undefined) return 'the output of the program';
  return step === undefined ? `unit "${unit}"` : `step "${unit}.${step}"`;
}

/** The steps of a program that will be reused, as far as that follows from its document and its input. */
class KeptSteps {
  readonly #program: ProgramState;
  readonly #completed: ReadonlySet<string>;
  readonly #known = new Map<string, boolean>();

  constructor(program: ProgramState) {
    this.#program = program;
    const { outputs = [], dropped = [], items = [] } = program.earlier ?? {};
    const unfinished = new Set(items.map(([at]) => at));
    this.#completed = new Set([...outputs.map(([at]) => at), ...dropped.filter((at) => !unfinished.has(at))]);
  }

  /** True if the part of the program that refers to an output does not run again. */
  isReused({ unit, step }: Use, of: StepAddress): boolean {
    if (unit === undefined) return false;
    const found = this.#program.document.units.find(({ name }) => name === unit);
    if (step !== undefined) {
      // Inside a block, or inside the step itself, the innermost step that refers to it decides.
      const document = indexOf(this.#program.document).get(unit, step).step;
      return this.#isKept(unit, step) || (isBlock(document) && !refersItself(document, of, unit));
    }
    return found?.when === undefined && found?.steps.every(({ name }) => this.#isKept(unit, name)) === true;
  }

  /** True for a step that itself or around which a block has completed in the earlier run, and is the same. */
  #isKept(unit: string, step: string): boolean {
    const index = indexOf(this.#program.document);
    return blocksAround(index, { unit, step, indexes: [] }).some(
      (one) => this.#completed.has(`${unit}.${one.step}`) && this.isUnchanged({ ...one, unit }),
    );
  }

  /** True for a step with the same definition that refers to equal values. */
  isUnchanged({ unit, step }: Omit<StepAddress, 'indexes'>): boolean {
    const name = `${unit}.${step}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    // Steps of a lenient program may refer to each other.
    this.#known.set(name, true);
    const isUnchanged = hasSameDefinition(this.#program, { unit, step }) && this.#hasEqualValues(unit, step);
    this.#known.set(name, isUnchanged);
    return isUnchanged;
  }

  #hasEqualValues(unit: string, name: string): boolean {
    const at = { unit, step: name, indexes: [] };
    const index = indexOf(this.#program.document);
    const indexed = index.get(unit, name);
    const lookups = { now: lookupAt(this.#program, at), earlier: earlierLookup(this.#program, at) };
    const values = comparedValues(indexed);
    return allReferences(values).every((reference) => {
      const [first, second] = reference.path;
      if (first === 'input') return hasEqualValue(reference, indexed, lookups);
      const named = [
        [unit, first],
        [first, second],
      ].find(([of, step]) => typeof of === 'string' && typeof step === 'string' && index.find(of, step) !== undefined);
      const [of, step] = named ?? [];
      if (typeof of !== 'string' || typeof step !== 'string') return true;
      const isOwn = of === unit && (step === name || indexed.inside.includes(step));
      return isOwn || this.isUnchanged({ unit: of, step });
    });
  }
}

/** True if a block names a step in its own conditions or its list, rather than in a step inside it. */
function refersItself({ branch, forEach, repeat, when }: StepDocument, { unit, step }: StepAddress, by: string): boolean {
  const own = [
    when === undefined ? null : { of: when.of },
    branch?.cases.map((one) => ({ of: one.when.of })) ?? null,
    forEach === undefined ? null : { in: forEach.in },
    repeat === undefined ? null : { of: repeat.until.of },
  ];
  return bareReferences(own).some(({ path: [first, second] }) => (by === unit && first === step) || (first === unit && second === step));
}
