import { allSteps, type ProgramDocument } from '../../domain/program-document.ts';
import { didYouMean } from '../../domain/text.ts';

/** Returns why a run of a program cannot resume an earlier one from this step, given as `unit.step`, or undefined. */
export function fromProblem(document: ProgramDocument, from: string): string | undefined {
  const names = allSteps(document).map(({ unit, step }) => `${unit.name}.${step.name}`);
  if (names.includes(from)) return undefined;
  const near = didYouMean(from, names);
  const hint = near === '' ? ': name one of its steps, as <unit>.<step>' : near;
  return `The run cannot resume from ${JSON.stringify(from)}: program "${document.name}" has no such step${hint}`;
}
