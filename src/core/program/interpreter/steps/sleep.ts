// Programs: waits.

import type { SleepDocument } from '../../../domain/program-document.ts';
import { errorMessage } from '../../../domain/errors.ts';
import { type Duration, milliseconds } from '../../../domain/time.ts';
import { resolveValue } from '../../references/interpolate.ts';
import type { ProgramRun } from '../program-run.ts';
import { failedAtOnce, type RunningStep } from '../record.ts';
import type { AttemptEnd } from '../ends.ts';
import { stepFailure } from '../step-failure.ts';
import { lookupAt } from '../values.ts';

/** Waits for the time of a `sleep`. */
export async function sleepOnce(run: ProgramRun, running: RunningStep, sleep: SleepDocument): Promise<AttemptEnd> {
  const { state, address, at } = running;
  if (state.progress?.wakeAt === undefined) {
    const edited = state.progress?.approved?.arguments?.['for'];
    const duration = edited === undefined ? resolveValue(sleep.for, lookupAt(run.program, address)) : { ok: true as const, value: edited };
    try {
      if (!duration.ok) throw new TypeError(duration.problem);
      state.progress = { ...state.progress, wakeAt: run.ports.now() + milliseconds(duration.value as Duration, `step "${at}": "sleep"`) };
    } catch (error) {
      return failedAtOnce(run, running, stepFailure(running, 'invalid_input', errorMessage(error)));
    }
  }
  return (await sleepUntilWoken(run, running, `sleep of ${at}`))
    ? { type: 'done', output: null, id: run.ports.uuid() }
    : { type: 'stopped' };
}

/** Waits until the time in the progress of the step. False if the run stops first. */
export async function sleepUntilWoken(run: ProgramRun, { state }: RunningStep, summary: string): Promise<boolean> {
  const { ports } = run;
  const wakeAt = state.progress?.wakeAt ?? 0;
  while (ports.now() < wakeAt && run.stop === undefined) {
    const at = Math.min(wakeAt, run.deadline);
    await ports.until(() => run.isStopped, { at, summary });
    if (ports.now() < wakeAt && ports.now() >= run.deadline) await run.mayStart('other');
  }
  if (ports.now() < wakeAt) return false;
  delete state.progress?.wakeAt;
  return true;
}
