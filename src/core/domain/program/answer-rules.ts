import type { AskDocument } from './document.ts';

/** The checks of the answer of a step, besides its form. */
export interface AnswerRules extends Pick<AskDocument, 'type' | 'confidenceFloor' | 'requiredFields' | 'range'> {
  /** The name of the step. */
  step: string;
  /** The names of the anchors. */
  anchors?: string[];
  /** The program is lenient: unknown anchors are ignored, and an answer without the declared form is taken as it is. */
  lenient?: true;
}
