/** What can end a command early, and the exit code that says so: 128 and the number of the signal, as shells count. */
const EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, 'output closed': 0 } as const;

/** Why a command was ended early. */
export type InterruptionCause = keyof typeof EXITS;

/** The reason of the terminal's signal. It is never reported: whoever caused it knows. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly by: InterruptionCause;

  constructor(by: InterruptionCause) {
    super(`interrupted: ${by}`);
    this.by = by;
  }

  /** The exit code for a command that did not come to its end. */
  get exitCode(): number {
    return EXITS[this.by];
  }
}

/** Waits for the work, or rejects with the reason of the signal as soon as that is aborted, whatever the work does then. */
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
