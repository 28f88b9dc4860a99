import type { CodeCallResult, Moment } from '../../execution/executor.ts';
import type { SpilledContent } from '../content/content.ts';

/** One segment of a cell, as a worker without the namespace runs it again. */
export interface JournalSegment {
  /** The digest of the calls and the output of the segment, which running it again must reproduce. */
  digest: string;
  /** The names of the tools that it called, in the order of the calls, so that they can be told if the namespace is lost. */
  tools?: string[];
  /** The results of its calls, in their order. Absent for the last segment of a cell, and while they are awaited. */
  results?: CodeCallResult[];
}

/** One cell, as a worker without the namespace runs it again. */
export interface JournalCell {
  code: string;
  moment: Moment;
  segments: JournalSegment[];
}

/**
 * The cells that made the namespace of a run: those that ended by themselves, with or without an error, and the one that runs. Cells
 * that were killed or used up their time or memory are not among them.
 */
export interface CodeJournal {
  /** The namespace before the first of the cells. Absent: it is empty. */
  checkpoint?: SpilledContent;
  cells: JournalCell[];
  /** There were cells before, whose names and values are lost: the model has to be told why. */
  isLost?: 'too_large' | 'agent_changed';
}
