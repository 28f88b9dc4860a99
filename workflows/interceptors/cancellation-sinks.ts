import type { Sinks } from '@temporalio/workflow';

/** The sinks through which the sandbox reports a cancellation to the worker, without waiting for an answer. */
export interface LonghaulSinks extends Sinks {
  longhaul: {
    /** Reports that the run is being cancelled. May be called again when a workflow task is executed again. */
    cancelRequested(): void;
    /**
     * Reports that the model call of the run is to be interrupted. `key` is that of a run inside a workflow of the
     * user, or empty. May be called again as well.
     */
    interruptRequested(key: string): void;
  };
}
