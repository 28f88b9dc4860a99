/** One attempt of a tool took too long. */
export class ToolTimeout extends Error {
  override readonly name = 'ToolTimeout';
  readonly afterMs: number;

  constructor(toolName: string, afterMs: number) {
    super(`Tool '${toolName}' timed out after ${afterMs}ms`);
    this.afterMs = afterMs;
  }
}

/** The time that one attempt has. */
export interface TimeLimit {
  /** The work; or rejects when the time is up, whether or not the work listens. */
  race: <Result>(work: Promise<Result>) => Promise<Result>;
  clear: () => void;
}

/** Begins the time of an attempt, which `abort` ends with a `ToolTimeout`. */
export function timeLimit(toolName: string, limitMs: number, abort: (reason: ToolTimeout) => void): TimeLimit {
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
