import type { JsonValue } from '../../domain/json.ts';
import { newStepError, type StepError } from '../errors/step-error.ts';
import type { StepPlace } from '../errors/step-failures.ts';
import { type AnswerRules, validateAnswer } from './validate-answer.ts';
import type { ValidationResult } from '../../domain/verdicts.ts';

/** Returns the failure of an attempt whose answer is invalid. Its details are the messages of the violations, one on each line. */
export function validationFailure({ violations }: ValidationResult, place: StepPlace): StepError {
  const details = violations.map(({ message }) => message).join('\n');
  return newStepError('validation_failed', `Semantic validation failed:\n${details}`, { ...place, details });
}

/** The outcome of `requireValid`. */
export type Validated = { ok: true; result: ValidationResult } | { ok: false; result: ValidationResult; error: StepError };

/**
 * Validates one answer outside of a run. Too low a confidence is the failure, even if there are other violations; their messages
 * are joined otherwise.
 */
export function requireValid(answer: JsonValue, rules: AnswerRules, place: Partial<StepPlace> = {}): Validated {
  const result = validateAnswer(answer, rules);
  if (result.isValid) return { ok: true, result };
  const errors = result.violations.filter(({ severity }) => severity === 'error');
  const tooLow = errors.find(({ rule }) => rule === 'confidence_floor');
  const context = { ...place, ...(rules.type === undefined ? {} : { expectedType: rules.type }), actualValue: answer };
  if (tooLow !== undefined) return { ok: false, result, error: newStepError('confidence_too_low', tooLow.message, context) };
  const message = errors.map((one) => one.message).join('; ');
  return { ok: false, result, error: newStepError('validation_failed', message, context) };
}
