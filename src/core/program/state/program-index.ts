import {
  kindOf,
  nestedLists,
  type ProgramDocument,
  type StepDocument,
  type StepKind,
  type UnitDocument,
} from '../../domain/program-document.ts';

/** A block that repeats its steps, around a step. */
export interface Loop {
  /** The name of the block. */
  name: string;
  kind: 'forEach' | 'repeat';
  /** For `forEach`: the reference to the list, and the name of the item. */
  in?: string;
  as?: string;
}

/** A step of a program with its surroundings. */
export interface IndexedStep {
  unit: UnitDocument;
  step: StepDocument;
  kind: StepKind;
  /** The blocks around the step that repeat it, the outermost first. */
  loops: readonly Loop[];
  /** The name of the block that directly holds the step. Absent for a step of the unit itself. */
  block?: string;
  /** The names of all steps inside, for a block. */
  inside: readonly string[];
}

/** The indexes of documents, which never change. */
const indexes = new WeakMap<ProgramDocument, ProgramIndex>();

/** Returns the index of the steps of a program. */
export function indexOf(document: ProgramDocument): ProgramIndex {
  let index = indexes.get(document);
  if (index === undefined) indexes.set(document, (index = new ProgramIndex(document)));
  return index;
}

/** The steps of a program by unit and name. Made from the document alone, so that workflow and activities agree. */
class ProgramIndex {
  readonly document: ProgramDocument;
  readonly #units = new Map<string, Map<string, IndexedStep>>();

  constructor(document: ProgramDocument) {
    this.document = document;
    for (const unit of document.units) {
      const steps = new Map<string, IndexedStep>();
      this.#units.set(unit.name, steps);
      add(steps, { unit, loops: [] }, unit.steps);
    }
  }

  /** Returns a step; undefined if the unit has none of that name. */
  find(unit: string, step: string): IndexedStep | undefined {
    return this.#units.get(unit)?.get(step);
  }

  /** Returns a step that the document has. */
  get(unit: string, step: string): IndexedStep {
    const found = this.find(unit, step);
    if (found === undefined) throw new TypeError(`Program "${this.document.name}" has no step "${unit}.${step}"`);
    return found;
  }

  hasUnit(unit: string): boolean {
    return this.#units.has(unit);
  }
}

export type { ProgramIndex };

/** The surroundings of a list of steps. */
type Surroundings = Pick<IndexedStep, 'unit' | 'loops' | 'block'>;

function add(steps: Map<string, IndexedStep>, around: Surroundings, list: readonly StepDocument[]): string[] {
  return list.flatMap((step) => {
    const own = { unit: around.unit, loops: [...around.loops, ...loopOf(step)], block: step.name };
    const inside = nestedLists(step).flatMap((nested) => add(steps, own, nested));
    steps.set(step.name, { ...around, step, kind: kindOf(step), inside });
    return [step.name, ...inside];
  });
}

function loopOf(step: StepDocument): Loop[] {
  if (step.forEach !== undefined) return [{ name: step.name, kind: 'forEach', in: step.forEach.in, as: step.forEach.as ?? 'item' }];
  return step.repeat === undefined ? [] : [{ name: step.name, kind: 'repeat' }];
}
