// Programs: the end of a step after its attempts.

import type { StepDocument } from '../../domain/program/document.ts';
import { exhaustionFailure } from '../errors/step-failures.ts';
import { fallbackOf } from '../refine/refine-config.ts';
import { addressText } from '../state/address.ts';
import type { ProgramRun } from './program-run.ts';
import { endStep, type RunningStep } from './record.ts';
import type { StepsEnd } from './ends.ts';
import type { AttemptEnd } from './ends.ts';
import { indexOf } from '../state/program-index.ts';
import { stepFailure } from './step-failure.ts';

/** Ends a step with the outcome of its last attempt: it completes, fails, is skipped, or takes the output of its fallback. */
export async function concludeStep(run: ProgramRun, running: RunningStep, step: StepDocument, last: AttemptEnd): Promise<StepsEnd> {
  if (last.type === 'stopped') return 'stopped';
  if (last.type === 'done') {
    endStep(run, running, { status: 'completed', output: last.output, outputId: last.id });
    return 'completed';
  }
  const fallback = fallbackOf(step.refine ?? {});
  const { unit, step: name } = running.address;
  // Only a lenient program may name a fallback that it does not have.
  const isMissing = fallback !== undefined && indexOf(run.program.document).find(unit, fallback) === undefined;
  if (step.refine?.onExhaustion === 'skip' || isMissing) {
    const reason = isMissing ? `its attempts are used up, and there is no step "${fallback}"` : 'its attempts are used up';
    endStep(run, running, { status: 'skipped', error: last.error, reason });
    return 'completed';
  }
  if (fallback !== undefined) return takeFallback(run, running, fallback);
  // AXON reports used-up attempts even for a model call that has only one.
  const isExhausted = step.refine !== undefined || (run.program.document.lenient === true && step.ask !== undefined);
  const error = isExhausted ? exhaustionFailure(running.state.attempts, last.error, { step: name, unit }) : last.error;
  endStep(run, running, { status: 'failed', error });
  return 'failed';
}

/** Takes the output of another step, which runs now if it has not run yet. */
async function takeFallback(run: ProgramRun, running: RunningStep, name: string): Promise<StepsEnd> {
  const { unit, indexes } = running.address;
  const { step } = indexOf(run.program.document).get(unit, name);
  const end = await run.runSteps({ unit, steps: [step], indexes });
  if (end === 'stopped') return 'stopped';
  const { output, spilled, outputId, error } = run.program.steps.get(addressText({ unit, step: name, indexes })) ?? {};
  if (end === 'failed' || (output === undefined && spilled === undefined)) {
    const missing = stepFailure(running, 'step_failed', `The fallback "${name}" of step "${running.address.step}" has no output`);
    endStep(run, running, { status: 'failed', error: error ?? missing });
    return 'failed';
  }
  endStep(run, running, {
    status: 'completed',
    ...(output === undefined ? {} : { output }),
    ...(spilled === undefined ? {} : { spilled }),
    ...(outputId === undefined ? {} : { outputId }),
    reason: `taken from "${name}"`,
  });
  return 'completed';
}
