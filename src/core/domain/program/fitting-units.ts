import { cutText } from '../content/cut-content.ts';
import { jsonBytes } from '../json/payload-limit.ts';
import type { ProgramStepResult, UnitResult } from './unit-result.ts';

/** Results of units that fit into a closing event. `unitsCut`: the last units were left out. */
export interface FittingUnits {
  units: UnitResult[];
  unitsCut?: true;
}

/** The bytes of the largest output that is kept, in the order in which they are tried. */
const OUTPUT_BYTES = [2_000, 500, 0];

/** The bytes of the message of an error, if even errors have to be cut. */
const MESSAGE_BYTES = 200;

/**
 * Returns the results of units in at most `bytes` of JSON: without large outputs and details first, then without the usage of steps, then
 * without the steps that did not fail, then without any steps, and at last without the last units. The record of events has everything.
 */
export function fittingUnits(all: readonly UnitResult[], bytes: number): FittingUnits {
  const fits = (units: readonly UnitResult[]): boolean => jsonBytes(units) <= bytes;
  let units = [...all];
  for (const most of OUTPUT_BYTES) {
    if (fits(units)) return { units };
    units = units.map((unit) => ({ ...unit, steps: unit.steps.map((step) => withoutLarge(step, most)) }));
  }
  if (fits(units)) return { units };
  units = units.map((unit) => ({ ...unit, steps: unit.steps.map(({ usage: _, ...step }) => step) }));
  if (fits(units)) return { units };
  units = units.map((unit) => ({ ...unit, steps: unit.steps.filter(({ status }) => status === 'failed'), stepsCut: true }));
  if (fits(units)) return { units };
  units = units.map(brief);
  if (fits(units)) return { units };
  while (units.length > 0 && !fits(units)) units = units.slice(0, Math.floor(units.length / 2));
  return { units, unitsCut: true };
}

function withoutLarge({ output, text, attemptDetails, ...step }: ProgramStepResult, bytes: number): ProgramStepResult {
  const details = { ...(text === undefined ? {} : { text }), ...(attemptDetails === undefined ? {} : { attemptDetails }) };
  const hasDetails = Object.keys(details).length > 0;
  return {
    ...step,
    ...(output === undefined ? {} : jsonBytes(output) <= bytes ? { output } : { outputCut: true }),
    ...(!hasDetails ? {} : jsonBytes(details) <= bytes ? details : { detailsCut: true }),
  };
}

function brief({ error, ...unit }: UnitResult): UnitResult {
  const cut = error === undefined ? {} : { error: { code: error.code, message: cutText(error.message, MESSAGE_BYTES), context: {} } };
  return { ...unit, ...cut, steps: [], stepsCut: true };
}
