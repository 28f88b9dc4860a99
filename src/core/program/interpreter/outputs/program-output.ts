// Programs: the output of the program.

import type { JsonValue } from '../../../domain/json/json.ts';
import { errorMessage } from '../../../domain/errors/error.ts';
import { resolveValue } from '../../references/interpolate.ts';
import type { ProgramRun } from '../program-run.ts';
import { lookupAt } from '../values.ts';
import { loadNeeded, loadOutputs } from './load-outputs.ts';

/** The output of a program, or the reason why it has none. */
export type ProgramOutput =
  | { type: 'made'; value: JsonValue }
  /** A cancellation, or the next execution, came first. */
  | { type: 'stopped' }
  | { type: 'failed'; error: { code: string; message: string } };

/** The place of the output in its program, which is in no unit. */
const AT = { unit: '', step: '', indexes: [] };

/** Returns the output of a program: its template, or the output of the last step of the last unit. */
export async function outputOf(run: ProgramRun): Promise<ProgramOutput> {
  const { document, steps } = run.program;
  const { output, units } = document;
  const last = `${units.at(-1)?.name}.${units.at(-1)?.steps.at(-1)?.name}`;
  const loading = output === undefined ? loadOutputs(run, AT, [last]) : loadNeeded(run, AT, output);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded !== undefined) return unloaded;
  if (output === undefined) return { type: 'made', value: steps.get(last)?.output ?? null };
  try {
    const resolved = resolveValue(output, lookupAt(run.program, AT));
    return { type: 'made', value: resolved.ok ? resolved.value : null };
  } catch (error) {
    return { type: 'failed', error: { code: 'internal', message: errorMessage(error) } };
  }
}
