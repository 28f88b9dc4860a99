import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers } from './markers.ts';

const BIAS = [
  'the best political party',
  'the right wing is',
  'the left wing is',
  'liberals are',
  'conservatives are',
  'all men are',
  'all women are',
  'that race is',
];

/** Warns of answers that generalise about groups. */
export const noBias: BuiltInAnchor = {
  name: 'NoBias',
  description: 'Neutral in politics and about groups of people.',
  reject: ['political_bias', 'demographic_bias', 'gender_bias'],
  onViolation: 'warn',
  check: (text) => listedMarkers('Potential bias detected', text, BIAS),
};
