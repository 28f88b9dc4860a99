// Programs: the attempts of one step.

import type { JsonValue } from '../../domain/json/json.ts';
import type { StepError } from '../../domain/program/step-error.ts';
import type { StepDocument } from '../format/document.ts';
import { type AttemptOutcome, refine } from '../refine/refine.ts';
import { refineConfigOf } from '../refine/refine-config.ts';
import type { ProgramRun } from './program-run.ts';
import type { RunningStep } from './record.ts';
import { concludeStep } from './conclude-step.ts';
import { runOnce } from './run-once.ts';
import type { StepsEnd } from './run-steps.ts';
import { sleepUntilWoken } from './steps/sleep.ts';

/** The outcome of one attempt. */
export type AttemptEnd =
  /** `id`: the id under which workers keep the output. */
  | { type: 'done'; output: JsonValue; id: string }
  /** `id`: the id of the event of the failure. `isFinal`: no further attempt may be made. */
  | { type: 'failed'; error: StepError; id: string; isFinal?: true }
  /** The run stops: the attempt is made, or goes on, in the next execution. */
  | { type: 'stopped' };

/** Runs the attempts of a step until one succeeds or none is left, and ends the step. */
export async function runAttempts(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<StepsEnd> {
  throw new TypeError(`not written: ${running.at} ${step.name} ${String(run.stop)}`);
}
