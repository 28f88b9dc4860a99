// Programs: the failure of a step as data.

import type { ErrorCode } from '../../domain/errors.ts';
import type { StepError } from '../../domain/verdicts.ts';
import { newStepError } from '../errors/step-error.ts';
import type { RunningStep } from './record.ts';

/** Returns the failure of a step, with its unit and its name. */
export function stepFailure({ address }: RunningStep, code: ErrorCode, message: string, details = ''): StepError {
  return newStepError(code, message, { step: address.step, unit: address.unit, details });
}
