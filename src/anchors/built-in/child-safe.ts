import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers, type Marker } from './markers.ts';
import { AFTER_WORD, BEFORE_WORD } from './word-boundary.ts';

const INAPPROPRIATE: readonly Marker[] = [
  'explicit sexual',
  'pornography',
  'graphic violence',
  'drug use instructions',
  'alcohol abuse',
  ['gambling tutorial', 'gambling tutorials'],
];

/** Whole words with their inflections and compounds: the same letters inside of "class" or a name are no profanity. */
const PROFANITY = new RegExp(
  `${BEFORE_WORD}(?:${[
    '(?:mother)?fuck(?:s|ed|er|ers|ing|in|up)?',
    '(?:bull|horse|dip)?shit(?:s|ty|ting|head|show)?',
    '(?:god)?damn(?:s|ed|it)?',
    'bastard(?:s|ly)?',
    'bitch(?:es|y|ing|ed)?',
    '(?:dumb|jack|smart)?ass(?:hole|holes)?',
  ].join('|')})${AFTER_WORD}`,
  'iu',
);

/** Stops answers that are not for children. */
export const childSafe: BuiltInAnchor = {
  name: 'ChildSafe',
  description: 'Fit for minors: no adult content, graphic violence, profanity or drugs.',
  reject: ['adult_content', 'violence', 'profanity', 'drugs'],
  onViolation: 'raise',
  check: (text) => [
    ...listedMarkers('Age-inappropriate content detected', text, INAPPROPRIATE),
    ...(PROFANITY.test(text) ? ['Profanity detected'] : []),
  ],
};
