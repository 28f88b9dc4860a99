import type { AnchorVerdict } from '../../domain/verdicts.ts';
import { newStepError, type StepError } from '../errors/step-error.ts';
import { breachMessage, type StepPlace } from '../errors/step-failures.ts';

/** Returns the failure of an attempt whose answer breaches anchors. Its details are the violations, one on each line. */
export function anchorFailure({ breaches }: AnchorVerdict, place: StepPlace): StepError {
  const details = breaches.flatMap(({ violations }) => violations).join('\n');
  const anchorName = breaches.map(({ anchor }) => anchor).join(', ');
  const { code, context } = newStepError('anchor_breach', '', { ...place, anchorName, details });
  return { code, message: breachMessage(context), context };
}
