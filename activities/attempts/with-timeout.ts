/** The time limit of an operation, and what else ends it. */
export interface TimeoutOptions<Value> {
  /** Milliseconds. */
  ms: number;
  /** Ends the operation early, with the signal's reason. */
  stop?: AbortSignal | undefined;
  /** Receives a value that arrives after the operation was abandoned. */
  onLateResult?: (value: Value) => void;
}

/**
 * Resolves with the result of `work` if that comes in time. Otherwise aborts the signal of `work` and rejects at once,
 * even if `work` ignores the signal.
 */
export async function withTimeout<Value>(
  work: (signal: AbortSignal) => Value | Promise<Value>,
  { ms, stop, onLateResult }: TimeoutOptions<Value>,
): Promise<Value> {
  stop?.throwIfAborted();
  const controller = new AbortController();
  const stopped = (): void => controller.abort(stop?.reason);
  stop?.addEventListener('abort', stopped, { once: true });
  const timer = setTimeout(() => controller.abort(new Error(`it took more than ${ms / 1000} s`)), ms);
  const { signal } = controller;
  const working = async (): Promise<Value> => {
    const value = await work(signal);
    if (signal.aborted) onLateResult?.(value);
    return value;
  };
  const givenUp = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  try {
    return await Promise.race([working(), givenUp]);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', stopped);
  }
}
