import { cutText } from '../../domain/byte-budgets.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { StepError, StepErrorContext } from '../../domain/verdicts.ts';
import type { JsonValue } from '../../domain/json.ts';
import { debugText } from './debug-text.ts';

/** The most bytes of a message, and of its details: they are recorded, and the next attempt of the model reads them. */
export const MAX_ERROR_BYTES = 8_000;

export type { StepError, StepErrorContext };

/** The circumstances as the code that fails knows them: fields may be empty, and the value is not text yet. */
export type GivenErrorContext = Omit<StepErrorContext, 'actualValue'> & { actualValue?: JsonValue | undefined };

/** Returns a failure of a step. Its context has no empty fields, and its texts have a limit. */
export function newStepError(code: ErrorCode, message: string, given: GivenErrorContext = {}): StepError {
  const { step, unit, attempt, expectedType, actualValue, anchorName, details } = given;
  const context: StepErrorContext = {
    ...(step ? { step } : {}),
    ...(unit ? { unit } : {}),
    ...(attempt ? { attempt } : {}),
    ...(expectedType ? { expectedType } : {}),
    ...(actualValue === undefined || actualValue === null ? {} : { actualValue: debugText(actualValue) }),
    ...(anchorName ? { anchorName } : {}),
    ...(details ? { details: cutText(details, MAX_ERROR_BYTES) } : {}),
  };
  return { code, message: cutText(message, MAX_ERROR_BYTES), context };
}
