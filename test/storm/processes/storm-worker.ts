import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The settings of a worker's process, passed as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file that effects are written to. */
  ledger: string;
  /** The number of cached runs; the default of the SDK if it is left out. */
  cached?: number;
  /** The number of history events after which a run continues as new; the default if it is left out. */
  eventsOfExecution?: number;
}

const PROGRAM = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** A worker in a process of its own: it can be killed and replaced. */
export class StormWorker {
  /** The number of times that it was killed. */
  kills = 0;
  readonly #setting: WorkerSetting;
  #child: ChildProcess | undefined;

  constructor(setting: WorkerSetting) {
    this.#setting = setting;
  }

  /** Starts the process and waits until its worker is created. Throws if it ends before. */
  async start(): Promise<void> {
    const child = fork(PROGRAM, [JSON.stringify(this.#setting)], { stdio: ['ignore', 2, 2, 'ipc'] });
    this.#child = child;
    const ended = once(child, 'exit').then(([code, signal]: unknown[]) => {
      throw new Error(`A worker ended before it was ready (${String(signal ?? code)}): see its output above`);
    });
    await Promise.race([once(child, 'message'), ended]);
    // From now on, the end of the process is not an error.
    ended.catch(() => undefined);
  }

  /** Kills the process with SIGKILL, and starts another. */
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
