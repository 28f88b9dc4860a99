import type { BuiltInAnchor } from '../anchor.ts';
import { BEFORE_WORD } from './word-boundary.ts';

/** The forms of a citation: [1], (Author, 2024), doi:10.1000/xyz, and an address. */
const CITATIONS = [
  /\[\p{Nd}+\]/u,
  /\(\p{Lu}\p{Ll}+,\s*\p{Nd}{4}\)/u,
  new RegExp(String.raw`${BEFORE_WORD}doi:\s*10\.\p{Nd}{4}`, 'iu'),
  new RegExp(String.raw`${BEFORE_WORD}https?://\S`, 'u'),
];

/** Stops answers without a citation. It does not check if the source exists. */
export const requiresCitation: BuiltInAnchor = {
  name: 'RequiresCitation',
  description: 'Facts need citations in the text.',
  require: 'inline_citation',
  reject: ['unverifiable_claim'],
  confidenceFloor: 0.9,
  onViolation: 'raise',
  check: (text) => (CITATIONS.some((form) => form.test(text)) ? [] : [NO_CITATION]),
};

const NO_CITATION =
  'Citation Breach: HighConfidenceFact requires explicit inline citations. Accepted formats: [1], (Author, 2024), doi:10.xxxx/..., or verifiable https:// URLs.';
