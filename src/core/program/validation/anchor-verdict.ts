import { newStepError, type StepError } from '../errors/step-error.ts';
import type { StepPlace } from '../errors/step-failures.ts';

/** The violations of one anchor in an answer. */
export interface AnchorBreach {
  anchor: string;
  violations: string[];
}

/** The outcome of all anchors of an answer, as plain data. */
export interface AnchorVerdict {
  /** True if no anchor stops the answer. */
  passed: boolean;
  /** The names of the anchors that were checked, in order. */
  checked: string[];
  /** The breaches that stop the answer, in the order of the anchors. */
  breaches: AnchorBreach[];
  /** The breaches of anchors that only warn, in the order of the anchors. */
  warnings: AnchorBreach[];
  /** The anchors that were not checked because the answer admits that it does not know. */
  excused: string[];
}

/** Returns the failure of an attempt whose answer breaches anchors. Its details are the violations, one on each line. */
export function anchorFailure({ breaches }: AnchorVerdict, place: StepPlace): StepError {
  const details = breaches.flatMap(({ violations }) => violations).join('\n');
  const anchorName = breaches.map(({ anchor }) => anchor).join(', ');
  return newStepError('anchor_breach', `L3 Anchor breach detected:\n${details}`, { ...place, anchorName, details });
}
