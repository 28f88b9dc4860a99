import type { Sinks } from '@temporalio/workflow';

/** The workflow type of a run of empty local activities. */
export const EMPTY_CALLS = 'emptyCalls';

/** The activity that does nothing. */
export const EMPTY_CALL = 'empty';

/** The way out of the sandbox for what a workflow asks for. */
export interface CommandSinks extends Sinks {
  bench: {
    /** So many activities were asked for, at the end of one activation. Called before the server or anybody else hears of it. */
    commands(count: number): void;
  };
}
