import type { AnchorVerdict } from './anchor-verdict.ts';
import type { Violation } from './violation.ts';

/** The checks of one answer, as the activity that received the answer recorded them. */
export interface AnswerVerdict {
  /** The answer has no text: it was not checked any further. */
  empty?: true;
  /** Absent if the step has no anchors. */
  anchors?: AnchorVerdict;
  /** The violations of the semantic validator, warnings included. Absent if the answer was not validated: it breaches an anchor, or the step declares nothing. */
  violations?: Violation[];
  /** The confidence that the answer declares. */
  confidence?: number;
  /** The answer does not have the form that the step declares: the problem. */
  misfit?: string;
}
