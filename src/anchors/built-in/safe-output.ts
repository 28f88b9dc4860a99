import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers } from './markers.ts';

const HARMFUL = [
  'how to make a bomb',
  'how to hack',
  'how to steal',
  'kill yourself',
  'self-harm',
  'suicide method',
  'racial slur',
  'hate speech',
];

/** Stops answers with harmful content. */
export const safeOutput: BuiltInAnchor = {
  name: 'SafeOutput',
  description: 'No harmful content, violence or hate speech.',
  reject: ['harmful_content', 'violence', 'hate_speech'],
  onViolation: 'raise',
  check: (text) => listedMarkers('Harmful content detected', text, HARMFUL),
};
