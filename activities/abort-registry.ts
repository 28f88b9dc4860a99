/** An activity that can be aborted; `interruptibleBy` is the key of the run whose messages may do so. */
interface Abortable {
  controller: AbortController;
  interruptibleBy: string | undefined;
}

/**
 * The way a cancellation takes inside one process: the workflow's sink calls `abort`, and the activities of that
 * run see it at once, where a heartbeat would take seconds. Another process is reached by heartbeat alone. A message
 * that interrupts a model call takes the same way.
 */
export class AbortRegistry {
  readonly #activities = new Map<string, Set<Abortable>>();

  /** A signal for one activity of an execution. `release` forgets it. A model call says which run's messages interrupt it. */
  register(execution: string, interruptibleBy?: string): { signal: AbortSignal; release: () => void } {
    const activity: Abortable = { controller: new AbortController(), interruptibleBy };
    const activities = this.#activities.get(execution) ?? new Set();
    this.#activities.set(execution, activities.add(activity));
    return {
      signal: activity.controller.signal,
      release: () => {
        activities.delete(activity);
        if (activities.size === 0) this.#activities.delete(execution);
      },
    };
  }

  /** Aborts every activity of the execution in this process. Calling it again changes nothing: a redone workflow task does. */
  abort(execution: string): void {
    for (const { controller } of this.#activities.get(execution) ?? []) controller.abort(new RunCancelled());
  }

  /** Aborts the model call of one run of the execution; `run` is its key, empty for a run that is a workflow of its own. */
  interrupt(execution: string, run: string): void {
    for (const { controller, interruptibleBy } of this.#activities.get(execution) ?? []) {
      if (interruptibleBy === run) controller.abort(new RunInterrupted());
    }
  }
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
