import type { Pass } from '../pass.ts';

/** What came of one run. */
export interface Outcome {
  pass: Pass;
  /** The point at which it was hit, or the name of a run that was hit at random. */
  name: string;
  problems: string[];
  seconds: number;
  /** Where its histories are, if there are problems. */
  histories?: string;
}
