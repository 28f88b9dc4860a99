import type { Sinks } from '@temporalio/workflow';

/** The way out of the sandbox that a cancellation takes: fire and forget, handled by the worker. */
export interface LonghaulSinks extends Sinks {
  longhaul: {
    /** The run is being cancelled. May be called again when a workflow task is redone. */
    cancelRequested(): void;
    /** The model call of the run is to be given up; `key` is that of a run inside a workflow of the user, or empty. As above. */
    interruptRequested(key: string): void;
  };
}
