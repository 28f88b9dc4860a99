import fc from 'fast-check';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { ProgramDocument, StepDocument, UnitDocument } from '../../../../src/core/domain/program-document.ts';
import { ask, withUnits } from './programs.ts';

/** Chooses a number below `below`. */
export type Choose = (below: number) => number;

/** An arbitrary source of choices. */
export const CHOICES: fc.Arbitrary<Choose> = fc.infiniteStream(fc.nat({ max: 1_000_000 })).map((stream) => (below) => {
  const { value } = stream.next();
  return (typeof value === 'number' ? value : 0) % below;
});

/** Makes a program of blocks and steps that each refer to one name, whether it can be seen there or not. */
export function randomProgram(choose: Choose): JsonObject {
  const units = Array.from({ length: 1 + choose(3) }, (_, index) => randomUnit(choose, index));
  return withUnits(...units);
}

function randomUnit(choose: Choose, index: number): JsonObject {
  let count = 0;
  const name = (): string => `S${(count += 1)}`;
  const earlier = (): string => (count < 2 ? 'input' : `S${1 + choose(count - 1)}`);
  const reference = (): string => (choose(4) === 0 ? `u${choose(index + 1)}.S${1 + choose(2)}` : earlier());
  const list = (depth: number): JsonObject[] => Array.from({ length: 1 + choose(2) }, () => step(depth));
  const step = (depth: number): JsonObject => {
    const own = name();
    switch (depth > 2 ? 0 : choose(7)) {
      case 1:
        return { name: own, parallel: { branches: [list(depth + 1), list(depth + 1)] } };
      case 2:
        return { name: own, branch: { cases: [{ when: { of: reference(), is: {} }, steps: list(depth + 1) }], else: list(depth + 1) } };
      case 3:
        return { name: own, forEach: { in: 'input.list', as: `i${count}`, steps: list(depth + 1) } };
      case 4: {
        const steps = list(depth + 1);
        return { name: own, repeat: { until: { of: reference(), is: {} }, atMost: 2, steps } };
      }
      default:
        return ask(own, choose(3) > 0 ? 'Go.' : `{{${reference()}}}`);
    }
  };
  const needs = index === 0 || choose(2) === 0 ? {} : { needs: [`u${choose(index)}`] };
  return { name: `u${index}`, ...needs, steps: list(0) };
}

/** Plays a program with chosen cases, orders and rounds. Returns the references that were resolved before their step had run. */
export function playedReferences(document: ProgramDocument, choose: Choose): string[] {
  const missing: string[] = [];
  const ran = new Set<string>();
  for (const unit of ordered(document.units, choose)) playList(unit.steps, { unit: unit.name, ran, missing, choose });
  return missing;
}

interface Play {
  unit: string;
  ran: Set<string>;
  missing: string[];
  choose: Choose;
}

function playList(steps: readonly StepDocument[], play: Play): void {
  for (const step of steps) {
    const references = step.ask?.prompt.match(/(?<=\{\{).*(?=\}\})/g) ?? step.branch?.cases.map(({ when }) => when.of) ?? [];
    resolve(references, play);
    playInside(step, play);
    play.ran.add(`${play.unit}.${step.name}`);
  }
}

function playInside({ parallel, branch, forEach, repeat }: StepDocument, play: Play): void {
  const { ran, choose } = play;
  const branches = parallel?.branches ?? [];
  for (const steps of choose(2) === 0 ? branches : branches.toReversed()) playList(steps, play);
  if (branch !== undefined) {
    const taken = choose(2) === 0 ? branch.cases[0]?.steps : branch.else;
    playList(taken ?? [], play);
  }
  if (forEach !== undefined) {
    // Each item has its own steps, and a list may be empty.
    for (let item = choose(3); item > 0; item -= 1) playList(forEach.steps, { ...play, ran: new Set(ran) });
  }
  if (repeat === undefined) return;
  const before = new Set(ran);
  for (let round = 1 + choose(2); round > 0; round -= 1) {
    ran.clear();
    for (const name of before) ran.add(name);
    playList(repeat.steps, play);
    resolve([repeat.until.of], play);
  }
}

function resolve(references: readonly string[], { unit, ran, missing }: Play): void {
  for (const reference of references) {
    const name = reference.includes('.') ? reference : `${unit}.${reference}`;
    if (reference !== 'input' && !ran.has(name)) missing.push(reference);
  }
}

/** Orders units so that each comes after those that it needs. */
function ordered(units: readonly UnitDocument[], choose: Choose): UnitDocument[] {
  if (!units.some(({ needs }) => needs !== undefined)) return [...units];
  const order: UnitDocument[] = [];
  const left = new Set(units);
  while (left.size > 0) {
    const ready = [...left].filter(({ needs = [] }) => needs.every((need) => order.some(({ name }) => name === need)));
    const next = ready[choose(ready.length)];
    if (next === undefined) throw new Error('The units need each other.');
    order.push(next);
    left.delete(next);
  }
  return order;
}
