/** An activity that can be aborted; `interruptibleBy` is the key of the run whose messages may do so. */
interface Abortable {
  controller: AbortController;
  interruptibleBy: string | undefined;
  /** By its run, whatever else may have aborted it before. */
  isGivenUp: boolean;
}

/** One activity, as it is registered. */
export interface Registered {
  /** Aborted with the run, or with a message that interrupts it; whoever registers may abort it as well. */
  controller: AbortController;
  /** True once the run has given it up. */
  isGivenUp: () => boolean;
  /** Forgets it. */
  release: () => void;
}

/**
 * The way a cancellation takes inside one process: the workflow's sink calls `abort`, and the activities of that
 * run see it at once, where a heartbeat would take seconds. Another process is reached by heartbeat alone. A message
 * that interrupts a model call takes the same way.
 */
export class AbortRegistry {
  readonly #activities = new Map<string, Set<Abortable>>();

  /** Registers one activity of an execution. A model call says which run's messages interrupt it. */
  register(execution: string, interruptibleBy?: string): Registered {
    const activity: Abortable = { controller: new AbortController(), interruptibleBy, isGivenUp: false };
    const activities = this.#activities.get(execution) ?? new Set();
    this.#activities.set(execution, activities.add(activity));
    return {
      controller: activity.controller,
      isGivenUp: () => activity.isGivenUp,
      release: () => {
        activities.delete(activity);
        if (activities.size === 0) this.#activities.delete(execution);
      },
    };
  }

  /** Aborts every activity of the execution in this process. Calling it again changes nothing: a redone workflow task does. */
  abort(execution: string): void {
    for (const activity of this.#activities.get(execution) ?? []) giveUp(activity, new RunCancelled());
  }

  /** Aborts the model call of one run of the execution; `run` is its key, empty for a run that is a workflow of its own. */
  interrupt(execution: string, run: string): void {
    for (const activity of this.#activities.get(execution) ?? []) {
      if (activity.interruptibleBy === run) giveUp(activity, new RunInterrupted());
    }
  }
}

function giveUp(activity: Abortable, reason: RunCancelled | RunInterrupted): void {
  activity.isGivenUp = true;
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
