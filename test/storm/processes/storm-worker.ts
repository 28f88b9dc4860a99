import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What the process of a worker is started with, as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file that effects are written to. */
  ledger: string;
  /** Runs that it keeps in memory; the usual number where this is left out. */
  cached?: number;
  /** Events of an execution after which a run continues as new; the usual number where this is left out. */
  eventsOfExecution?: number;
}

const PROGRAM = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** A worker in a process of its own: it can be killed, and another takes its place. */
export class StormWorker {
  /** How often it was killed. */
  kills = 0;
  readonly #setting: WorkerSetting;
  #child: ChildProcess | undefined;

  constructor(setting: WorkerSetting) {
    this.#setting = setting;
  }

  /** Starts the process and waits until its worker is made. Throws where it ends before that. */
  async start(): Promise<void> {
    const child = fork(PROGRAM, [JSON.stringify(this.#setting)], { stdio: ['ignore', 2, 2, 'ipc'] });
    this.#child = child;
    const ended = once(child, 'exit').then(([code, signal]: unknown[]) => {
      throw new Error(`A worker ended before it was ready (${String(signal ?? code)}): see its output above`);
    });
    await Promise.race([once(child, 'message'), ended]);
    // From now on its end is nobody's error.
    ended.catch(() => undefined);
  }

  /** Kills the process, without a chance to tidy up, and starts another. */
  async killAndStart(): Promise<void> {
    this.kills += 1;
    await this.stop();
    await this.start();
  }

  /** Kills the process. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
