import { cutText } from '../../domain/byte-budgets.ts';
import type { StepErrorContext } from '../../domain/verdicts.ts';
import type { Duration } from '../../domain/time.ts';
import { MAX_ERROR_BYTES, newStepError, type StepError } from './step-error.ts';

/** The place of a failure in a program. */
export interface StepPlace {
  step: string;
  unit: string;
}

/** Returns the failure of a step whose model call failed. `reason` is the message of the error beneath it. */
export function modelCallFailure(reason: string, place: StepPlace): StepError {
  return newStepError('model_call_failed', `Model call failed for step '${place.step}': ${reason}`, { ...place, details: reason });
}

/** Returns the failure of a step of which an attempt took longer than its `timeout`. */
export function timeoutFailure(timeout: Duration, place: StepPlace): StepError {
  return newStepError('step_timeout', `Step '${place.step}' timed out after ${timeout}`, { step: place.step, unit: place.unit });
}

/** Returns the failure of a step whose model answered without any text. */
export function emptyAnswerFailure(place: StepPlace): StepError {
  return newStepError('empty_answer', 'Message content must not be empty', place);
}

/** Returns the failure of a step whose attempts all failed. `last` is the failure of the last attempt, or its text if nothing else is known. */
export function exhaustionFailure(attempts: number, last: StepError | string, place: StepPlace): StepError {
  const message = `All ${attempts} refine attempts exhausted for step '${place.step}'.`;
  const isText = typeof last === 'string';
  const failure = newStepError('refine_exhausted', message, { ...place, attempt: attempts, ...(isText ? { details: last } : {}) });
  return isText ? failure : { ...failure, cause: last };
}

/** Returns the message about breached anchors, which a model reads before its next attempt: each violation stands in it once. */
export function breachMessage({ anchorName = '', details = '' }: Pick<StepErrorContext, 'anchorName' | 'details'>): string {
  const names = anchorName.split(', ').map((name) => `"${name}"`);
  const anchors = `the ${names.length === 1 ? 'anchor' : 'anchors'} ${names.join(', ')}`;
  return cutText(`The answer breaches ${anchors}:${details.includes('\n') ? '\n' : ' '}${details}`, MAX_ERROR_BYTES);
}
