import type { Pass } from '../pass.ts';
import type { RunName } from '../subject.ts';

/** The outcome of one run. */
export interface Outcome {
  subject: RunName;
  pass: Pass;
  /** The point where it was hit, or the name of a run that was hit at random. */
  name: string;
  problems: string[];
  seconds: number;
  /** The folder of its histories, if there are problems. */
  histories?: string;
}
