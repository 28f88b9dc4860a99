import { jsonBytes } from '../json/payload-limit.ts';
import type { ProgramStepResult, UnitResult } from './unit-result.ts';

/**
 * Returns the results of units in at most `bytes` of JSON: without the largest outputs first, then without the steps that
 * succeeded, then without all steps. The record of events has everything.
 */
export function fittingUnits(units: readonly UnitResult[], bytes: number): UnitResult[] {
  let fitting = [...units];
  for (const most of [2_000, 500, 0]) {
    if (jsonBytes(fitting) <= bytes) return fitting;
    fitting = fitting.map((unit) => ({ ...unit, steps: unit.steps.map((step) => withoutLarge(step, most)) }));
  }
  if (jsonBytes(fitting) <= bytes) return fitting;
  fitting = fitting.map((unit) => ({ ...unit, steps: unit.steps.filter(({ status }) => status === 'failed'), stepsCut: true as const }));
  if (jsonBytes(fitting) <= bytes) return fitting;
  fitting = fitting.map(({ error, ...unit }) => ({
    ...unit,
    ...(error === undefined ? {} : { error: { ...error, message: error.message.slice(0, 200), context: {} } }),
    steps: [],
  }));
  while (fitting.length > 1 && jsonBytes(fitting) > bytes) fitting = fitting.slice(0, Math.floor(fitting.length / 2));
  return fitting;
}

function withoutLarge({ output, ...step }: ProgramStepResult, bytes: number): ProgramStepResult {
  if (output === undefined) return step;
  return jsonBytes(output) <= bytes ? { ...step, output } : { ...step, outputCut: true };
}
