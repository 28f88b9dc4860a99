import type { ConditionDocument, ForEachDocument, RepeatDocument } from '../../core/domain/program-document.ts';
import { type AnyStep, type BlockOptions, makeStep, type ProgramStep, splitOptions, stepDocuments, usesOf } from './program-step.ts';

/** A case of `branch`. */
export interface BranchCase {
  when: ConditionDocument;
  steps: readonly AnyStep[];
}

/** The options of `branch`. */
export interface BranchOptions extends BlockOptions {
  /** The steps that run if no case holds. */
  else?: readonly AnyStep[];
}

/** The options of `forEach`. */
export interface ForEachOptions extends BlockOptions, Omit<ForEachDocument, 'in' | 'steps'> {}

/** The options of `repeat`. */
export interface RepeatOptions extends BlockOptions, Omit<RepeatDocument, 'steps'> {}

/** Makes a block of lists of steps that run side by side. Its output is the list of the outputs of their last steps. */
export function parallel(name: string, branches: readonly (readonly AnyStep[])[], options: BlockOptions = {}): ProgramStep {
  const body = { branches: branches.map(stepDocuments) };
  return makeStep(name, { kind: 'parallel', body, common: options, uses: branches.flatMap(usesOf) });
}

/** Makes a block that runs the steps of the first case that holds. Its output is that of the last step of the case. */
export function branch(name: string, cases: readonly BranchCase[], options: BranchOptions = {}): ProgramStep {
  const { else: otherwise, ...common } = options;
  const body = {
    cases: cases.map(({ when, steps }) => ({ when, steps: stepDocuments(steps) })),
    ...(otherwise === undefined ? {} : { else: stepDocuments(otherwise) }),
  };
  const uses = [...cases.flatMap(({ steps }) => usesOf(steps)), ...usesOf(otherwise ?? [])];
  return makeStep(name, { kind: 'branch', body, common, uses });
}

/**
 * Makes a block that runs its steps for each item of a list, which a reference such as `{{Find.documents}}` leads to. Its output is
 * the list of the outputs of the last steps.
 */
export function forEach(name: string, list: string, options: ForEachOptions, steps: readonly AnyStep[]): ProgramStep {
  const { common, own } = splitOptions(options);
  return makeStep(name, { kind: 'forEach', body: { in: list, ...own, steps: stepDocuments(steps) }, common, uses: usesOf(steps) });
}

/** Makes a block that repeats its steps until a condition holds. Its output is that of the last step of the last round. */
export function repeat(name: string, options: RepeatOptions, steps: readonly AnyStep[]): ProgramStep {
  const { when, ...own } = options;
  const common = when === undefined ? {} : { when };
  return makeStep(name, { kind: 'repeat', body: { ...own, steps: stepDocuments(steps) }, common, uses: usesOf(steps) });
}
