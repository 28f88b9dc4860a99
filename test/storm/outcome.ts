import type { Check } from '../processes/command.ts';

/** The outcome of a part of the storm. */
export interface Outcome {
  checks: Check[];
  /** The measurements, for the line of figures. */
  figures: object;
}
