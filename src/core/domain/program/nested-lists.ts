import type { StepDocument } from './document.ts';

/** Returns the lists of steps inside a block, in the order of the document; none for another step. */
export function nestedLists(step: StepDocument): StepDocument[][] {
  if (step.parallel !== undefined) return step.parallel.branches;
  if (step.branch !== undefined)
    return [...step.branch.cases.map(({ steps }) => steps), ...(step.branch.else === undefined ? [] : [step.branch.else])];
  if (step.forEach !== undefined) return [step.forEach.steps];
  return step.repeat === undefined ? [] : [step.repeat.steps];
}
