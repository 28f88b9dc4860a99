import type { Check } from './check.ts';

/** What a part of the storm found. */
export interface Outcome {
  checks: Check[];
  /** What was measured, for the line of figures. */
  figures: object;
}
