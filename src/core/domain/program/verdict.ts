import type { Violation } from './violation.ts';

/** The checks of one answer, as the activity that received the answer recorded them. */
export interface AnswerVerdict {
  /** The anchors in the order in which they were checked. */
  anchors?: AnchorVerdict[];
  /** The violations of the semantic validator, warnings included. Absent if the answer was not validated. */
  violations?: Violation[];
  /** The confidence that the answer declares. */
  confidence?: number;
  /** The answer does not fit the JSON Schema of the step: the problem. */
  misfit?: string;
}

/** The check of one anchor. */
export interface AnchorVerdict {
  name: string;
  /** The messages of the breach; empty if the anchor holds. */
  violations: string[];
  /** True: the breach is recorded, and the answer passes. */
  isWarning?: true;
}
