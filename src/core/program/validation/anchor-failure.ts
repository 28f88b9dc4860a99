import type { AnchorVerdict } from '../../domain/program/anchor-verdict.ts';
import { newStepError, type StepError } from '../errors/step-error.ts';
import type { StepPlace } from '../errors/step-failures.ts';

/** Returns the failure of an attempt whose answer breaches anchors. Its details are the violations, one on each line. */
export function anchorFailure({ breaches }: AnchorVerdict, place: StepPlace): StepError {
  const details = breaches.flatMap(({ violations }) => violations).join('\n');
  const anchorName = breaches.map(({ anchor }) => anchor).join(', ');
  return newStepError('anchor_breach', `L3 Anchor breach detected:\n${details}`, { ...place, anchorName, details });
}
