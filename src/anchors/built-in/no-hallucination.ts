import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers } from './markers.ts';

const HEDGING = [
  'i believe',
  'i think',
  'probably',
  'might be',
  'could be',
  'it seems like',
  'supposedly',
  "i'm not sure but",
  "i'm guessing",
];

/** Stops answers that hedge instead of citing a source. */
export const noHallucination: BuiltInAnchor = {
  name: 'NoHallucination',
  description: 'Every claim needs a source: no speculation, no claims that cannot be verified.',
  require: 'source_citation',
  reject: ['speculation', 'unverifiable_claim'],
  confidenceFloor: 0.8,
  unknownResponse: "I don't have sufficient information to make this determination.",
  onViolation: 'raise',
  check: (text) => listedMarkers('Hedging without citation', text, HEDGING),
};
