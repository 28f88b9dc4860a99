/** Limits how many calls of a tool run at the same time on one worker. */
export class ToolSemaphore {
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  /**
   * Resolves when the call may run, with a function that releases its slot. Rejects with the reason of the signal if
   * that is aborted first.
   */
  async take(name: string, concurrency: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const running = this.#running.get(name) ?? 0;
    if (running < concurrency) this.#running.set(name, running + 1);
    else await this.#enqueue(name, signal);
    let isReleased = false;
    return () => {
      if (!isReleased) this.#release(name);
      isReleased = true;
    };
  }

  #enqueue(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(name) ?? [];
      this.#waiting.set(name, queue);
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.splice(queue.indexOf(begin), 1);
        reject(signal.reason as Error);
      };
      queue.push(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Hands a released slot to the call that has waited longest. */
  #release(name: string): void {
    const next = this.#waiting.get(name)?.shift();
    if (next !== undefined) next();
    else this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
  }
}
