import { isBlock, type ProgramDocument, type StepDocument, type UnitDocument } from './document.ts';
import { nestedLists } from './nested-lists.ts';

/** A step with its unit. */
export interface StepOfUnit {
  unit: UnitDocument;
  step: StepDocument;
}

/** Lists all steps of a program, with those inside of blocks. */
export function allSteps({ units }: ProgramDocument): StepOfUnit[] {
  const within = (unit: UnitDocument, steps: readonly StepDocument[]): StepOfUnit[] =>
    steps.flatMap((step) => [{ unit, step }, ...(isBlock(step) ? nestedLists(step).flatMap((list) => within(unit, list)) : [])]);
  return units.flatMap((unit) => within(unit, unit.steps));
}

/** Returns the models that a program names: `provider/model`. */
export function modelsOf(program: ProgramDocument): string[] {
  const models = allSteps(program).flatMap(({ step }) => (step.ask === undefined ? [] : [step.ask.model ?? program.model ?? '']));
  return [...new Set(models)];
}
