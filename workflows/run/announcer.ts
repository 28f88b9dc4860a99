import { proxySinks } from '@temporalio/workflow';
import type { RunStatus } from '../../src/core/domain/run/status.ts';
import type { LonghaulSinks } from '../interceptors/worker-sinks.ts';
import type { LiveRun } from './live-run.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/**
 * Tells the process of the worker, for the readers of the run, that the run has something new: events, steps or another status. It adds
 * nothing to the history.
 */
export class Announcer {
  readonly #run: LiveRun;
  #events = -1;
  #steps = -1;
  #status: RunStatus | undefined;

  constructor(run: LiveRun) {
    this.#run = run;
  }

  /** Announces the changes since the last call. `ended`: the status with which the run ends. */
  announce(ended?: RunStatus): void {
    const { state } = this.#run;
    const events = state === undefined ? 0 : state.firstOffset + state.context.events.length;
    // The record of a program has no steps.
    const steps = state?.program === undefined ? (state?.context.currentStep ?? 0) : 0;
    const status = ended ?? state?.status ?? 'running';
    if (events === this.#events && steps === this.#steps && status === this.#status) return;
    [this.#events, this.#steps, this.#status] = [events, steps, status];
    longhaul.recorded({ events, steps, status });
  }
}
