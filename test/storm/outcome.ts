import type { Check } from './check.ts';

/** The outcome of a part of the storm. */
export interface Outcome {
  checks: Check[];
  /** The measurements, for the line of figures. */
  figures: object;
}
