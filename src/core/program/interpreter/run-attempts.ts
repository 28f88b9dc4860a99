// Programs: the attempts of one step.

import type { JsonValue } from '../../domain/json/json.ts';
import { withAttempt } from '../../domain/program/attempt-details.ts';
import type { StepDocument } from '../../domain/program/document.ts';
import { formatError } from '../errors/format-error.ts';
import { failedAttempt } from '../refine/failed-attempt.ts';
import { refine } from '../refine/refine.ts';
import { resolveRefine } from '../refine/refine-config.ts';
import type { ProgramRun } from './program-run.ts';
import { failedAtOnce, type RunningStep } from './record.ts';
import { concludeStep } from './conclude-step.ts';
import { loadForRun } from './outputs/load-for-run.ts';
import { runOnce } from './run-once.ts';
import type { AttemptEnd, StepsEnd } from './ends.ts';
import { sleepUntilWoken } from './steps/sleep.ts';

/** Runs the attempts of a step until one succeeds or none is left, and ends the step. */
export async function runAttempts(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<StepsEnd> {
  const { state, at } = running;
  const config = resolveRefine(step.refine);
  const { wakeAt, failure } = state.progress ?? {};
  const isWaiting = wakeAt !== undefined && step.sleep === undefined;
  let last: AttemptEnd = { type: 'stopped' };
  await refine<JsonValue>({
    config,
    from: {
      attempt: Math.max(1, state.attempts + (isWaiting ? 1 : 0)),
      ...(failure === undefined ? {} : { failureContext: formatError(failure.error) }),
      waitMs: isWaiting ? 1 : 0,
    },
    attempt: async (_, number) => {
      state.attempts = number;
      last = await loadAndRun(run, running, step);
      if (last.type === 'stopped') return last;
      if (last.type === 'failed') state.attemptDetails = withAttempt(state.attemptDetails ?? [], { attempt: number, error: last.error });
      if (last.type === 'done') return { type: 'succeeded', result: last.output };
      if (last.isFinal) return { type: 'stopped' };
      state.progress = {
        failure: { error: last.error, id: last.id },
        ...(state.progress?.approved === undefined ? {} : { approved: state.progress.approved }),
      };
      return failedAttempt(last.error);
    },
    wait: async (ms, attempt) => {
      state.progress = { ...state.progress, wakeAt: state.progress?.wakeAt ?? run.ports.now() + ms };
      const isWoken = await sleepUntilWoken(run, running, `before attempt ${attempt + 1} of ${at}`);
      if (!isWoken) last = { type: 'stopped' };
      return { type: isWoken ? 'waited' : 'stopped' };
    },
  });
  return concludeStep(run, running, step, last);
}

/** Makes one attempt, once the run has the outputs that it resolves for it: a failed child has needed none of them. */
async function loadAndRun(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const loading = loadForRun(run, running, step);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded === undefined) return runOnce(run, running, step);
  return unloaded.type === 'stopped' ? unloaded : { ...failedAtOnce(run, running, unloaded.error), isFinal: true };
}
