/**
 * The way a cancellation takes inside one process: the workflow's sink calls `abort`, and the activities of that
 * run see it at once, where a heartbeat would take seconds. Another process is reached by heartbeat alone.
 */
export class AbortRegistry {
  readonly #controllers = new Map<string, Set<AbortController>>();

  /** A signal for one activity of the run. `release` forgets it. */
  register(key: string): { signal: AbortSignal; release: () => void } {
    const controller = new AbortController();
    const controllers = this.#controllers.get(key) ?? new Set();
    this.#controllers.set(key, controllers.add(controller));
    return {
      signal: controller.signal,
      release: () => {
        controllers.delete(controller);
        if (controllers.size === 0) this.#controllers.delete(key);
      },
    };
  }

  /** Aborts every activity of the run in this process. Calling it again changes nothing: a redone workflow task does. */
  abort(key: string): void {
    for (const controller of this.#controllers.get(key) ?? []) controller.abort(new RunCancelled());
  }
}

/** The reason of a signal that was aborted because the run was cancelled. */
export class RunCancelled extends Error {
  override readonly name = 'AbortError';

  constructor() {
    super('The run was cancelled');
  }
}
