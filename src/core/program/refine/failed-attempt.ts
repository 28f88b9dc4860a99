import { formatError, seedNameOf } from '../errors/format-error.ts';
import type { StepError } from '../errors/step-error.ts';
import { exhaustionFailure, type StepPlace } from '../errors/step-failures.ts';
import type { AttemptOutcome, RefineResult } from './refine.ts';
import { fallbackOf, type RefineConfig } from './refine-config.ts';

/** Returns the outcome of an attempt that failed. */
export function failedAttempt(error: StepError): Extract<AttemptOutcome<never>, { type: 'failed' }> {
  return { type: 'failed', error: formatError(error), errorType: seedNameOf(error.code) };
}

/**
 * Returns the failure of a step by the outcome of its attempts; undefined if the step does not fail by it. A step whose refine block
 * wants a fallback and names none fails.
 */
export function failureOf({ exhausted, attempts }: RefineResult<unknown>, config: RefineConfig, place: StepPlace): StepError | undefined {
  if (!exhausted || config.onExhaustion === 'skip' || fallbackOf(config) !== undefined) return undefined;
  const last = attempts.at(-1);
  return exhaustionFailure(config.maxAttempts, last?.success === false ? last.error : '', place);
}
