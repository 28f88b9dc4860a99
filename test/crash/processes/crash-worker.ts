import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Kill } from '../points/crash-trigger.ts';

/** The settings of a worker's process, passed as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file of the ledger. */
  ledger: string;
  /** The file of the memory of programs. */
  memory: string;
  heartbeatMs: number;
  /** Milliseconds without a heartbeat after which a call with effect `once` is given up. */
  onceTimeoutMs: number;
  /** The number of history events after which a run continues as new. */
  eventsOfExecution: number;
  /** The number of cached runs; the default of the SDK if it is left out. */
  cached?: number;
}

/** A message to the process: the process to kill from now on. */
export interface ToWorker {
  kill?: Kill;
}

/** A message from the process. */
export type FromWorker = { type: 'ready' } | { type: 'armed' } | ({ type: 'waiting' } & Waiting);

/** A pending approval. */
export interface Waiting {
  runId: string;
  callId: string;
  digest: string;
}

const PROGRAM = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** A worker in a process of its own. If it is killed, another one is started at once. */
export class CrashWorker {
  /** The number of times that it was killed. */
  kills = 0;
  /** The reason why there is no worker any more: its process ended without a kill. */
  failure: Error | undefined;
  /** Called with each pending approval, at least once. */
  onWaiting: (waiting: Waiting) => void = () => undefined;
  readonly #setting: WorkerSetting;
  #child: ChildProcess | undefined;
  #ready: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(setting: WorkerSetting) {
    this.#setting = setting;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('The worker has no process');
    return pid;
  }

  /** Starts the process and resolves when its worker is created. Rejects if it ends before without a kill. */
  start(): Promise<void> {
    const child = fork(PROGRAM, [JSON.stringify(this.#setting)], { stdio: ['ignore', 2, 2, 'ipc'] });
    this.#child = child;
    this.#ready = new Promise((resolve, reject) => {
      child.on('message', (message: FromWorker) => {
        if (message.type === 'ready') resolve();
        if (message.type === 'waiting') this.onWaiting(message);
      });
      child.once('exit', (code, signal) => {
        this.#hasEnded(code, signal);
        if (this.failure !== undefined) reject(this.failure);
        else if (!this.#isStopping) this.#ready.then(resolve, reject);
      });
    });
    // A caller that waits for the worker gets the error; there may be none.
    this.#ready.catch(() => undefined);
    return this.#ready;
  }

  /** Resolves when there is a worker, however often it was killed meanwhile. */
  async whenReady(): Promise<void> {
    let last;
    do {
      last = this.#ready;
      await last;
    } while (last !== this.#ready);
  }

  /** Sets the process to kill and the point; undefined: none. */
  async arm(kill?: Kill): Promise<void> {
    await this.whenReady();
    const child = this.#child;
    if (child === undefined) throw new Error('The worker has no process');
    const armed = new Promise<void>((resolve) => {
      const listen = ({ type }: FromWorker): void => {
        if (type !== 'armed') return;
        child.off('message', listen);
        resolve();
      };
      child.on('message', listen);
    });
    child.send((kill === undefined ? {} : { kill }) satisfies ToWorker);
    await Promise.race([armed, once(child, 'exit')]);
  }

  /** Kills the process. Another is started. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Kills the process for good. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  #hasEnded(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#isStopping) return;
    if (signal !== 'SIGKILL') {
      this.failure = new Error(`A worker ended by itself (${signal ?? `exit code ${code}`}): see its output above`);
      return;
    }
    this.kills += 1;
    void this.start();
  }
}
