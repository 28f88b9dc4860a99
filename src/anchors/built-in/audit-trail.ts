import type { BuiltInAnchor } from '../anchor.ts';
import { markersIn } from './markers.ts';

const REASONING = [
  'reasoning:',
  'therefore',
  'because',
  'based on',
  'evidence:',
  'conclusion:',
  'analysis:',
  'step 1',
  'firstly',
  'in summary',
];

/** Warns of answers that do not show their reasoning. */
export const auditTrail: BuiltInAnchor = {
  name: 'AuditTrail',
  description: 'The reasoning is visible, so that people can audit it.',
  require: 'human_review',
  onViolation: 'warn',
  check: (text) =>
    markersIn(text, REASONING).length > 0 ? [] : ['No reasoning trace found. AuditTrail requires visible reasoning steps.'],
};
