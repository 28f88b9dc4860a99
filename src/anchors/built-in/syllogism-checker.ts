import type { BuiltInAnchor } from '../anchor.ts';
import { isWordBoundary } from './word-boundary.ts';

/** Blanks and a number between the word of a label and its colon. It always matches, so it never reads a character twice. */
const NUMBER = /\s*\p{Nd}*\s*/uy;
const BLANKS = /\s*/y;

/** Stops answers that do not label their premises, and exactly one conclusion. It checks the labels, not the logic. */
export const syllogismChecker: BuiltInAnchor = {
  name: 'SyllogismChecker',
  description: 'Premises and one conclusion, each with its label.',
  require: 'logical_structure',
  onViolation: 'raise',
  check: (text) => {
    const plain = text.toLowerCase();
    const conclusions = countLabels(plain, 'conclusion', BLANKS);
    return [
      ...(countLabels(plain, 'premise', NUMBER) === 0 ? [NO_PREMISE] : []),
      ...(conclusions === 0 ? [NO_CONCLUSION] : []),
      ...(conclusions > 1 ? [tooMany(conclusions)] : []),
    ];
  },
};

const NO_PREMISE =
  "Syllogism Breach: No 'Premise:' marker found. The output must contain at least one explicitly labeled premise (e.g. 'Premise 1:', 'Major Premise:', 'Minor Premise:').";

const NO_CONCLUSION = "Syllogism Breach: No 'Conclusion:' marker found. The output must explicitly label its logical conclusion.";

function tooMany(conclusions: number): string {
  return `Syllogism Breach: Found ${conclusions} 'Conclusion:' markers. A well-formed syllogism has exactly one conclusion.`;
}

/** Counts the places at which a word, the characters of `gap` and a colon follow one another. */
function countLabels(text: string, word: string, gap: RegExp): number {
  let count = 0;
  for (let found = text.indexOf(word); found !== -1; found = text.indexOf(word, found + word.length)) {
    gap.lastIndex = found + word.length;
    gap.test(text);
    if (text[gap.lastIndex] === ':' && isWordBoundary(text, found)) count += 1;
  }
  return count;
}
