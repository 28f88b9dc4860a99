import type { Sinks } from '@temporalio/workflow';

/** The way out of the sandbox that a cancellation takes: fire and forget, handled by the worker. */
export interface LonghaulSinks extends Sinks {
  longhaul: {
    /** The run is being cancelled. May be called again when a workflow task is redone. */
    cancelRequested(): void;
  };
}
