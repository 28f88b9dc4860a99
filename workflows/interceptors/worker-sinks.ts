import type { Sinks } from '@temporalio/workflow';
import type { StreamEntry } from '../../src/core/domain/stream.ts';
import type { NewEvents } from '../../src/core/protocol.ts';

/** The totals of a run, and its status. */
export type RecordedTotals = Omit<Extract<StreamEntry, { type: 'recorded' }>, 'type' | 'executionId'>;

/** The sinks through which the sandbox tells the process of its worker something, without waiting for an answer. */
export interface LonghaulSinks extends Sinks {
  longhaul: {
    /** Reports that the run is being cancelled. May be called again when a workflow task is executed again. */
    cancelRequested(): void;
    /**
     * Reports that the model call of the run is to be interrupted. `key` is that of a run inside a workflow of the
     * user, or empty. May be called again as well.
     */
    interruptRequested(key: string): void;
    /** Hands over the events that are new to a model call, before it is scheduled. `key` as above. May be called again as well. */
    conversationGrew(key: string, news: NewEvents): void;
    /** Reports that the run has recorded something, or that its status has changed. May be called again as well. */
    recorded(totals: RecordedTotals): void;
  };
}
