import type { BuiltInAnchor } from '../anchor.ts';
import { markersIn } from './markers.ts';
import { BEFORE_WORD } from './word-boundary.ts';

const NUMBERED_STEP = new RegExp(String.raw`${BEFORE_WORD}step\s+\p{Nd}`, 'iu');

const MARKERS = [
  'first,',
  'firstly',
  'secondly',
  'thirdly',
  'next,',
  'then,',
  'finally,',
  'lastly,',
  'to begin',
  "let's think",
  'let me think',
  'let us consider',
  'starting with',
];

/** Stops answers that do not show the steps of their reasoning. */
export const chainOfThoughtValidator: BuiltInAnchor = {
  name: 'ChainOfThoughtValidator',
  description: 'The steps of the reasoning come before the answer.',
  require: 'step_by_step',
  onViolation: 'raise',
  check: (text) => (NUMBERED_STEP.test(text) || markersIn(text, MARKERS).length > 0 ? [] : [NO_STEPS]),
};

const NO_STEPS =
  "Chain of Thought Breach: The output jumps directly to a conclusion without showing intermediate reasoning steps. Use explicit markers like 'Step 1:', 'First,', 'Then,' etc.";
