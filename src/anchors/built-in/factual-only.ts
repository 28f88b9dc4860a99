import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers, type Marker } from './markers.ts';

const OPINION: readonly Marker[] = [
  'in my opinion',
  'i feel that',
  'personally',
  'i prefer',
  ['my favorite', 'my favorites'],
  "i'd recommend",
  'i suggest',
  'to me,',
];

/** Stops answers that give opinions. */
export const factualOnly: BuiltInAnchor = {
  name: 'FactualOnly',
  description: 'Facts only, no opinions.',
  require: 'factual_grounding',
  reject: ['opinion', 'speculation'],
  confidenceFloor: 0.85,
  unknownResponse: 'Insufficient factual evidence to respond.',
  onViolation: 'raise',
  check: (text) => listedMarkers('Opinion markers detected', text, OPINION),
};
