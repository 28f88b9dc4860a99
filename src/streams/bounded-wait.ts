/** Settles like the promise, or rejects with the error after a time. */
export async function within<Value>(ms: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like the promise, or resolves with undefined when the signal is aborted. */
export async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  // The promise may reject after the wait has ended.
  promise.catch(() => undefined);
  if (signal.aborted) return undefined;
  let stop = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Waits, at most until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
