import type { UnitDocument } from '../../core/domain/program-document.ts';
import { type AnyStep, type ProgramUnit, stepDocuments, usesOf } from './program-step.ts';

/** The options of `unit`. */
export type UnitOptions = Omit<UnitDocument, 'name' | 'steps'>;

/** Makes a unit: steps with one persona, which run in order. */
export function unit(name: string, options: UnitOptions, steps: readonly AnyStep[]): ProgramUnit {
  return { kind: 'longhaul.unit', document: { name, ...options, steps: stepDocuments(steps) }, uses: usesOf(steps) };
}
