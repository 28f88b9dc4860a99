import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers, type Marker } from './markers.ts';

const HARMFUL: readonly Marker[] = [
  'how to make a bomb',
  'how to hack',
  'how to steal',
  ['kill yourself', 'kill yourselves'],
  ['self-harm', 'self-harms', 'self-harmed', 'self-harming'],
  ['suicide method', 'suicide methods'],
  ['racial slur', 'racial slurs'],
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
