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
  /** Aborted with a `ToolTimeout` when the time is up, or with whatever aborts the attempt before. */
  signal: AbortSignal;
  /** The work; or rejects when the time is up, whether or not the work listens. */
  race: <Result>(work: Promise<Result>) => Promise<Result>;
  clear: () => void;
}

/** Begins the time of an attempt. */
export function timeLimit(toolName: string, limitMs: number, outer: AbortSignal): TimeLimit {
  const own = new AbortController();
  let giveUp: ((reason: ToolTimeout) => void) | undefined;
  const timer = setTimeout(() => {
    const reason = new ToolTimeout(toolName, limitMs);
    own.abort(reason);
    giveUp?.(reason);
  }, limitMs);
  return {
    signal: AbortSignal.any([outer, own.signal]),
    race: (work) => {
      const timeUp = new Promise<never>((_, reject) => {
        giveUp = reject;
      });
      return Promise.race([work, timeUp]);
    },
    clear: () => clearTimeout(timer),
  };
}
