/** Who is to be killed where: one process, once. */
export interface Kill {
  runId: string;
  point: string;
  /** The id of the process: this one, or that of the server. */
  victim: number;
}

/** Another process is dead after so many milliseconds, and its sockets are closed. */
const DYING_MS = 30;

/** Waits in a worker process for a run to come to a point. */
export class Fuse {
  readonly #log: (runId: string, point: string) => void;
  #kill: Kill | undefined;

  /** `log`: writes down every point that is reached. */
  constructor(log: (runId: string, point: string) => void) {
    this.#log = log;
  }

  /** Replaces what was armed before. */
  arm(kill: Kill | undefined): void {
    this.#kill = kill;
  }

  /** A run is at a point. If it is the one, the victim is dead when this returns, if it returns. */
  reached(runId: string, point: string): void {
    this.#log(runId, point);
    const kill = this.#kill;
    if (kill?.runId !== runId || kill.point !== point) return;
    this.#kill = undefined;
    process.kill(kill.victim, 'SIGKILL');
    // Nothing of what would come next may reach a server that is dying.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DYING_MS);
  }
}
