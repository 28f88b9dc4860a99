import type { BuiltInAnchor } from '../anchor.ts';
import { type Marker, markersIn } from './markers.ts';

const GUESSING: readonly Marker[] = [
  ['best guess', 'best guesses'],
  "i'm guessing",
  'if i had to guess',
  "it's possible that",
  'maybe it is',
  'i might be wrong but',
  ['wild guess', 'wild guesses'],
  'could potentially',
  'let me speculate',
  'my assumption is',
  'i would guess that',
  "i'll take a stab at",
  'a rough estimate would be',
];

const IGNORANCE = [
  'i do not know',
  "i don't know",
  'i am unsure',
  "i'm unsure",
  'i lack',
  'cannot confirm',
  'insufficient data',
  'not enough information',
  "i don't have enough",
  'i cannot determine',
  'unknown to me',
  'i do not have sufficient',
  'beyond my knowledge',
  "i'm not able to confirm",
];

/** True for an answer that says that the model does not know. */
export function admitsIgnorance(text: string): boolean {
  return markersIn(text, IGNORANCE).length > 0;
}

/** Stops answers that guess instead of admitting that the model does not know. */
export const agnosticFallback: BuiltInAnchor = {
  name: 'AgnosticFallback',
  description: 'A model that does not know says so, and does not guess.',
  require: 'epistemic_honesty',
  reject: ['unwarranted_speculation'],
  onViolation: 'raise',
  check: (text) => {
    const guesses = markersIn(text, GUESSING);
    return guesses.length === 0 || admitsIgnorance(text) ? [] : [guessing(guesses)];
  },
};

function guessing(guesses: readonly string[]): string {
  return `Epistemic Breach: The model resorted to unwarranted speculation (${guesses.join(', ')}). When information is lacking, state explicitly 'I do not have sufficient data' rather than guessing.`;
}
