import type { Sinks } from '@temporalio/workflow';

/** The workflow type of a run of empty local activities. */
export const EMPTY_CALLS = 'emptyCalls';

/** The activity that does nothing. */
export const EMPTY_CALL = 'empty';

/** The way out of the sandbox for what a workflow asks for. */
export interface CommandSinks extends Sinks {
  bench: {
    /** Activities were asked for, at that time: milliseconds since the epoch. The worker hears of it only once it has encoded what was asked for. */
    asked(at: number): void;
  };
}
