/** An activity that can be aborted. `interruptibleBy` is the key of the run whose messages may interrupt it. */
interface Abortable {
  controller: AbortController;
  interruptibleBy: string | undefined;
  /** True once its run has cancelled or interrupted it, even if the signal was aborted before. */
  isCancelled: boolean;
}

/** The registration of one activity. */
export interface Registration {
  /** Aborted when the run is cancelled or a message interrupts it; the activity may abort it too. */
  controller: AbortController;
  /** True once the run has cancelled or interrupted the activity. */
  isCancelled: () => boolean;
  /** Removes the registration. */
  release: () => void;
}

/**
 * Delivers cancellations inside one process: a workflow sink calls `abort`, and the activities of that run are aborted
 * at once, while a heartbeat would take seconds. Activities in other processes learn of it by heartbeat. Messages that
 * interrupt a model call are delivered in the same way.
 */
export class AbortRegistry {
  readonly #activities = new Map<string, Set<Abortable>>();

  /** Registers one activity of an execution. A model call names the run whose messages may interrupt it. */
  register(execution: string, interruptibleBy?: string): Registration {
    const activity: Abortable = { controller: new AbortController(), interruptibleBy, isCancelled: false };
    const activities = this.#activities.get(execution) ?? new Set();
    this.#activities.set(execution, activities.add(activity));
    return {
      controller: activity.controller,
      isCancelled: () => activity.isCancelled,
      release: () => {
        activities.delete(activity);
        if (activities.size === 0) this.#activities.delete(execution);
      },
    };
  }

  /** Aborts every activity of the execution in this process. Idempotent, because a workflow task may be executed again. */
  abort(execution: string): void {
    for (const activity of this.#activities.get(execution) ?? []) abortActivity(activity, new RunCancelled());
  }

  /** Aborts the model call of one run of the execution. `run` is its key, empty for a run that is a workflow of its own. */
  interrupt(execution: string, run: string): void {
    for (const activity of this.#activities.get(execution) ?? []) {
      if (activity.interruptibleBy === run) abortActivity(activity, new RunInterrupted());
    }
  }
}

function abortActivity(activity: Abortable, reason: RunCancelled | RunInterrupted): void {
  activity.isCancelled = true;
  activity.controller.abort(reason);
}

/** The reason of a signal that was aborted because the run was cancelled. */
export class RunCancelled extends Error {
  override readonly name = 'AbortError';

  constructor() {
    super('The run was cancelled');
  }
}

/** The reason of a signal that was aborted because of a message to the run, which goes on. */
export class RunInterrupted extends Error {
  override readonly name = 'AbortError';

  constructor() {
    super('A message interrupted the model call');
  }
}
