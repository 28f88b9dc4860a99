/**
 * The causes that end a command early, and the exit code of each: 128 plus the number of the signal, as shells count.
 */
const EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, 'output closed': 0 } as const;

/** The cause that ended a command early. */
export type InterruptionCause = keyof typeof EXITS;

/** The reason of the terminal's signal. It is never reported, because the user caused it. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly by: InterruptionCause;

  constructor(by: InterruptionCause) {
    super(`interrupted: ${by}`);
    this.by = by;
  }

  /** The exit code of an interrupted command. */
  get exitCode(): number {
    return EXITS[this.by];
  }
}

/**
 * Waits for the work, or rejects with the reason of the signal as soon as it is aborted, even if the work continues.
 */
export async function untilInterrupted<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  let abort = (): void => undefined;
  const interrupted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([interrupted, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
