// Programs: the failure of a step as data.

import type { ErrorCode } from '../../domain/errors/error.ts';
import type { StepError } from '../../domain/program/step-error.ts';
import type { RunningStep } from './record.ts';

/** Returns the failure of a step, with the circumstances that AXON gives. */
export function stepFailure({ address, state }: RunningStep, code: ErrorCode, message: string, details?: string): StepError {
  const { unit, step } = address;
  return {
    code,
    message,
    context: { step, unit, ...(state.attempts > 1 ? { attempt: state.attempts } : {}), ...(details === undefined ? {} : { details }) },
  };
}
