import {
  kindOf,
  nestedLists,
  type ProgramDocument,
  type StepDocument,
  type StepKind,
  type UnitDocument,
} from '../domain/program-document.ts';
import type { ProgramState } from '../domain/program-run.ts';

/** A block around a step that repeats its steps. */
export interface Loop {
  /** The name of the block. */
  name: string;
  kind: 'forEach' | 'repeat';
  /** For `forEach`: the reference to the list, and the name of the item. */
  in?: string;
  as?: string;
}

/** A step of a program and its surroundings. */
export interface IndexedStep {
  unit: UnitDocument;
  step: StepDocument;
  kind: StepKind;
  /** The repeating blocks around the step, outermost first. */
  loops: readonly Loop[];
  /** The name of the block that directly contains the step. Absent for a step of the unit itself. */
  block?: string;
  /** For a block: the names of all steps inside it. */
  inside: readonly string[];
}

/** The indexes of documents, which never change. */
const indexesByDocument = new WeakMap<ProgramDocument, ProgramIndex>();

export function indexOf(document: ProgramDocument): ProgramIndex {
  let index = indexesByDocument.get(document);
  if (index === undefined) indexesByDocument.set(document, (index = new ProgramIndex(document)));
  return index;
}

/** The steps of a program by unit and name. Built from the document alone, so that workflow and activities agree. */
class ProgramIndex {
  readonly document: ProgramDocument;
  readonly #units = new Map<string, Map<string, IndexedStep>>();

  constructor(document: ProgramDocument) {
    this.document = document;
    for (const unit of document.units) {
      const steps = new Map<string, IndexedStep>();
      this.#units.set(unit.name, steps);
      addSteps(steps, { unit, loops: [] }, unit.steps);
    }
  }

  /** Returns a step, or undefined if the unit has none of that name. */
  find(unit: string, step: string): IndexedStep | undefined {
    return this.#units.get(unit)?.get(step);
  }

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

type Surroundings = Pick<IndexedStep, 'unit' | 'loops' | 'block'>;

function addSteps(steps: Map<string, IndexedStep>, around: Surroundings, list: readonly StepDocument[]): string[] {
  return list.flatMap((step) => {
    const own = { unit: around.unit, loops: [...around.loops, ...loopOf(step)], block: step.name };
    const inside = nestedLists(step).flatMap((nested) => addSteps(steps, own, nested));
    steps.set(step.name, { ...around, step, kind: kindOf(step), inside });
    return [step.name, ...inside];
  });
}

function loopOf(step: StepDocument): Loop[] {
  if (step.forEach !== undefined) return [{ name: step.name, kind: 'forEach', in: step.forEach.in, as: step.forEach.as ?? 'item' }];
  return step.repeat === undefined ? [] : [{ name: step.name, kind: 'repeat' }];
}

/** One execution of a step: the unit, the step, and the index of the item or round of each block around it. */
export interface StepAddress {
  unit: string;
  step: string;
  /** From the outermost block to the innermost. 0-based. */
  indexes: readonly number[];
}

/** Formats an address as text: `fan.Sum[3]`. */
export function addressText({ unit, step, indexes }: StepAddress): string {
  return `${unit}.${step}${indexes.map((index) => `[${index}]`).join('')}`;
}

/** Reads the text of an address. Throws a TypeError for any other text. */
export function parseAddress(text: string): StepAddress {
  const [, unit, step, indexes = ''] = /^([^.[\]]+)\.([^.[\]]+)((?:\[\d+\])*)$/.exec(text) ?? [];
  if (unit === undefined || step === undefined) throw new TypeError(`"${text}" is not the address of a step`);
  return { unit, step, indexes: [...indexes.matchAll(/\d+/g)].map(([index]) => Number(index)) };
}

/** Returns the step itself and the blocks around it, innermost first. Empty for the address of a unit. */
export function blocksAround(index: ProgramIndex, { unit, step, indexes }: StepAddress): StepAddress[] {
  const found: StepAddress[] = [];
  for (let one = index.find(unit, step); one !== undefined; one = one.block === undefined ? undefined : index.find(unit, one.block))
    found.push({ unit, step: one.step.name, indexes: indexes.slice(0, one.loops.length) });
  return found;
}

/** Returns the id of a step's call: the step's address, and the number of the attempt from the second on. */
export function callIdAt(at: string, attempts: number, suffix = ''): string {
  return `${at}${suffix}${attempts > 1 ? `#${attempts}` : ''}`;
}

// Programs: the steps whose children wait for a person.

/** Returns the steps of a program with waiting children, as `unit.step`: one entry for all items of a `forEach`. */
export function waitingSteps(program: Pick<ProgramState, 'steps'> | undefined, waitingChildren: readonly string[]): string[] {
  if (program === undefined || waitingChildren.length === 0) return [];
  const waiting = new Set(waitingChildren);
  const found = new Set<string>();
  for (const [at, { progress }] of program.steps) {
    if (progress?.child === undefined || !waiting.has(progress.child.runId)) continue;
    const { unit, step } = parseAddress(at);
    found.add(`${unit}.${step}`);
  }
  return [...found];
}
