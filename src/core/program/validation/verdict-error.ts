import type { StepError } from '../../domain/program/step-error.ts';
import type { AnswerVerdict } from '../../domain/program/verdict.ts';
import { anchorFailure } from './anchor-failure.ts';
import { validationFailure } from './validation-failure.ts';
import { newStepError } from '../errors/step-error.ts';
import { emptyAnswerFailure, type StepPlace } from '../errors/step-failures.ts';

/** Returns the failure of an attempt by the checks of its answer: the anchors first, then the form, then the validator. */
export function verdictError(
  { empty, anchors, misfit, violations = [], confidence }: AnswerVerdict,
  place: StepPlace,
): StepError | undefined {
  if (empty) return emptyAnswerFailure(place);
  if (anchors?.passed === false) return anchorFailure(anchors, place);
  if (misfit !== undefined)
    return newStepError('validation_failed', `The answer does not have the form of the step: ${misfit}`, { ...place, details: misfit });
  const isValid = violations.every(({ severity }) => severity !== 'error');
  return isValid ? undefined : validationFailure({ isValid, violations, confidence: confidence ?? null }, place);
}

/** Returns the messages of all that the checks of an answer found, warnings included. */
export function violationMessages({ anchors, misfit, violations = [] }: AnswerVerdict): string[] {
  const ofAnchors = [...(anchors?.breaches ?? []), ...(anchors?.warnings ?? [])].flatMap((breach) => breach.violations);
  return [...ofAnchors, ...(misfit === undefined ? [] : [misfit]), ...violations.map(({ message }) => message)];
}
