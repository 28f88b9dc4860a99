import type { StepError } from '../../domain/program/step-error.ts';
import type { AnswerVerdict } from '../../domain/program/verdict.ts';
import { validationFailure } from '../validation/validation-failure.ts';
import { newStepError } from './step-error.ts';
import type { StepPlace } from './step-failures.ts';

/** Returns the failure of an attempt by the checks of its answer: the anchors first, then the schema, then the validator. */
export function verdictError(verdict: AnswerVerdict, place: StepPlace): StepError | undefined {
  const { anchors = [], misfit, violations = [], confidence = null } = verdict;
  const breached = anchors.filter((anchor) => anchor.violations.length > 0 && !anchor.isWarning);
  if (breached.length > 0) {
    const details = breached.flatMap((anchor) => anchor.violations).join('\n');
    const anchorName = breached.map(({ name }) => name).join(', ');
    return newStepError('anchor_breach', `L3 Anchor breach detected:\n${details}`, { ...place, anchorName, details });
  }
  if (misfit !== undefined)
    return newStepError('validation_failed', `The answer does not fit the schema: ${misfit}`, { ...place, details: misfit });
  const isValid = violations.every(({ severity }) => severity !== 'error');
  return isValid ? undefined : validationFailure({ isValid, violations, confidence }, place);
}

/** Returns the messages of all that the checks of an answer found, warnings included. */
export function violationMessages({ anchors = [], misfit, violations = [] }: AnswerVerdict): string[] {
  return [
    ...anchors.flatMap((anchor) => anchor.violations),
    ...(misfit === undefined ? [] : [misfit]),
    ...violations.map(({ message }) => message),
  ];
}
