import { cutText } from '../../domain/content/cut-content.ts';
import type { AnchorVerdict } from '../../domain/program/anchor-verdict.ts';
import type { StepErrorContext } from '../../domain/program/step-error.ts';
import { MAX_ERROR_BYTES, newStepError, type StepError } from '../errors/step-error.ts';
import type { StepPlace } from '../errors/step-failures.ts';

/** Returns the failure of an attempt whose answer breaches anchors. Its details are the violations, one on each line. */
export function anchorFailure({ breaches }: AnchorVerdict, place: StepPlace): StepError {
  const details = breaches.flatMap(({ violations }) => violations).join('\n');
  const anchorName = breaches.map(({ anchor }) => anchor).join(', ');
  const { code, context } = newStepError('anchor_breach', '', { ...place, anchorName, details });
  return { code, message: breachMessage(context), context };
}

/** Returns the message about breached anchors, which a model reads before its next attempt: each violation stands in it once. */
export function breachMessage({ anchorName = '', details = '' }: Pick<StepErrorContext, 'anchorName' | 'details'>): string {
  const names = anchorName.split(', ').map((name) => `"${name}"`);
  const anchors = `the ${names.length === 1 ? 'anchor' : 'anchors'} ${names.join(', ')}`;
  return cutText(`The answer breaches ${anchors}:${details.includes('\n') ? '\n' : ' '}${details}`, MAX_ERROR_BYTES);
}
