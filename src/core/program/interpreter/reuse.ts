// Programs: results of an earlier run.

import type { StepAddress } from '../state/address.ts';
import { reusableOutput } from '../state/reusable.ts';
import type { ProgramRun } from './program-run.ts';
import { endStep, type RunningStep } from './record.ts';
import { contextOf, lookupAt, lookupOf } from './values.ts';

/** Reads the results of the earlier run, once. If that fails, the failure ends the run: nothing is paid for twice by accident. */
export async function readEarlier({ program, ports }: ProgramRun): Promise<{ code: string; message: string } | undefined> {
  if (program.resume === undefined || program.earlier !== undefined) return undefined;
  const outcome = await ports.readEarlier(program.resume.run);
  if (outcome.type === 'read') program.earlier = outcome.earlier;
  return outcome.type === 'failed' ? outcome : undefined;
}

/** Ends a step with its output in the earlier run, if the step is the same. Returns false for any other step. */
export function reuse(run: ProgramRun, running: RunningStep): boolean {
  const { earlier } = run.program;
  if (earlier === undefined) return false;
  const output = reusableOutput(run.program, running.address, {
    now: lookupAt(run.program, running.address),
    earlier: earlierLookup(run, running.address),
  });
  if (output === undefined) return false;
  endStep(run, running, { status: 'completed', output, outputId: run.ports.uuid(), reused: true });
  return true;
}

function earlierLookup({ program: { earlier } }: ProgramRun, at: StepAddress): ReturnType<typeof lookupOf> {
  if (earlier === undefined) return () => ({ found: false });
  return lookupOf(earlier.document, contextOf(earlier.input, earlier.outputs), at);
}
