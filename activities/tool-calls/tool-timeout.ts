/** The error of an attempt that took too long. */
export class ToolTimeout extends Error {
  override readonly name = 'ToolTimeout';
  readonly afterMs: number;

  constructor(toolName: string, afterMs: number) {
    super(`Tool '${toolName}' timed out after ${afterMs}ms`);
    this.afterMs = afterMs;
  }
}

/** The time limit of one attempt. */
export interface TimeLimit {
  /** Resolves with the result of the work, or rejects when the time is up, even if the work ignores the signal. */
  race: <Result>(work: Promise<Result>) => Promise<Result>;
  clear: () => void;
}

/** Starts the timer of an attempt, which calls `abort` with a `ToolTimeout` when the time is up. */
export function startTimeLimit(toolName: string, limitMs: number, abort: (reason: ToolTimeout) => void): TimeLimit {
  let giveUp: ((reason: ToolTimeout) => void) | undefined;
  const timer = setTimeout(() => {
    const reason = new ToolTimeout(toolName, limitMs);
    abort(reason);
    giveUp?.(reason);
  }, limitMs);
  return {
    race: (work) => {
      const timeUp = new Promise<never>((_, reject) => {
        giveUp = reject;
      });
      return Promise.race([work, timeUp]);
    },
    clear: () => clearTimeout(timer),
  };
}
