import type { OutlineStep } from '../outline.ts';
import { itemName } from '../names/check-names.ts';

/** The steps that have run at a place of a unit, and the items that have a name there. Each list of steps has one, inside that of its block. */
export class VisibleSteps {
  readonly steps = new Set<OutlineStep>();
  readonly #outer: VisibleSteps | undefined;
  readonly #item: string | undefined;

  constructor(outer?: VisibleSteps, forEach?: OutlineStep) {
    this.#outer = outer;
    this.#item = forEach === undefined ? undefined : itemName(forEach);
  }

  /** True if the step has run, or been skipped. */
  has(step: OutlineStep): boolean {
    return this.steps.has(step) || (this.#outer?.has(step) ?? false);
  }

  /** True if an item has that name. */
  hasItem(name: string): boolean {
    return this.#item === name || (this.#outer?.hasItem(name) ?? false);
  }

  /** The names that a reference can begin with here. */
  *names(): Generator<string> {
    for (const { name } of this.steps) yield name;
    if (this.#item !== undefined) yield this.#item;
    if (this.#outer !== undefined) yield* this.#outer.names();
  }
}

/** Lists steps that are visible after a list of steps: those of the list itself, and those inside blocks that certainly run them. */
export function exportedSteps(steps: readonly OutlineStep[]): OutlineStep[] {
  return steps.flatMap((step) => {
    const isOpen = step.kind === 'parallel' || step.kind === 'repeat';
    return [step, ...(isOpen ? step.lists.flatMap((list) => exportedSteps(list.steps)) : [])];
  });
}
