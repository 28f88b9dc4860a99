import type { Sinks } from '@temporalio/workflow';

/** The workflow type of a run of empty local activities. */
export const EMPTY_CALLS = 'emptyCalls';

/** The activity that does nothing. */
export const EMPTY_CALL = 'empty';

/** The sink through which a workflow reports its commands. */
export interface CommandSinks extends Sinks {
  bench: {
    /**
     * Activities were scheduled at that time: milliseconds since the epoch. The worker sees the commands only once it has
     * encoded them.
     */
    asked(at: number): void;
  };
}
