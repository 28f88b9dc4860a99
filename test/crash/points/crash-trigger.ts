import { KILLED } from './points.ts';

/** A process to kill at a point of a run, once. */
export interface Kill {
  runId: string;
  point: string;
  /** The id of the process: this one, or the server. */
  victim: number;
}

/** After this many milliseconds another process is dead, and its sockets are closed. */
const DYING_MS = 30;

/** Kills a process when a run reaches a point. Used in the worker process. */
export class CrashTrigger {
  readonly #log: (runId: string, point: string) => void;
  #kill: Kill | undefined;

  /** `log`: records every point that is reached. */
  constructor(log: (runId: string, point: string) => void) {
    this.#log = log;
  }

  /** Sets the next kill, in place of the one before. */
  arm(kill: Kill | undefined): void {
    this.#kill = kill;
  }

  /**
   * Reports that a run is at a point. If it is the point of the kill, the victim is dead when this returns, unless it is this
   * process.
   */
  reached(runId: string, point: string): void {
    this.#log(runId, point);
    const kill = this.#kill;
    if (kill?.runId !== runId || kill.point !== point) return;
    this.#kill = undefined;
    this.#log(runId, KILLED);
    process.kill(kill.victim, 'SIGKILL');
    // No later command may reach a server that is dying.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DYING_MS);
  }
}
