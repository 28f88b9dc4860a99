import type { JsonValue } from '../../domain/json.ts';
import type { AnswerVerdict, StepError, Violation } from '../../domain/verdicts.ts';
import { debugText } from '../errors/debug-text.ts';
import { newStepError } from '../errors/step-error.ts';
import { emptyAnswerFailure, type StepPlace } from '../errors/step-failures.ts';
import { anchorFailure } from './anchor-failure.ts';
import { validationFailure } from './validation-failure.ts';

/** An answer that was checked, and what its step declares. */
export interface JudgedAnswer {
  place: StepPlace;
  answer: JsonValue;
  /** The type that the step declares. */
  type?: string | undefined;
  /** As AXON's executor, a lenient program reports too little confidence as any other violation. */
  lenient?: boolean | undefined;
}

/** Returns the failure of an attempt by the checks of its answer: the anchors first, then the form, then the validator. */
export function verdictError(verdict: AnswerVerdict, { place, answer, type, lenient = false }: JudgedAnswer): StepError | undefined {
  if (verdict.empty) return emptyAnswerFailure(place);
  const error = failureOf(verdict, place, lenient);
  if (error === undefined) return undefined;
  const { context } = error;
  return { ...error, context: { ...context, ...(type ? { expectedType: type } : {}), actualValue: debugText(answer) } };
}

function failureOf(
  { anchors, misfit, violations = [], confidence }: AnswerVerdict,
  place: StepPlace,
  lenient: boolean,
): StepError | undefined {
  if (anchors?.passed === false) return anchorFailure(anchors, place);
  if (misfit !== undefined)
    return newStepError('validation_failed', `The answer does not have the form of the step: ${misfit}`, { ...place, details: misfit });
  const errors = violations.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return undefined;
  const [first] = errors;
  if (first !== undefined && !lenient && errors.every(isTooUnsure)) return newStepError('confidence_too_low', first.message, place);
  return validationFailure({ isValid: false, violations, confidence: confidence ?? null }, place);
}

function isTooUnsure({ rule }: Violation): boolean {
  return rule === 'confidence_floor';
}
