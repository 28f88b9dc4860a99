import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Kill } from '../points/fuse.ts';

/** What the process of a worker is started with, as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file of the ledger. */
  ledger: string;
  heartbeatMs: number;
  /** Milliseconds that a call which happens once may give no sign of life. */
  onceTimeoutMs: number;
  /** A run continues as new when its execution has so many events. */
  eventsOfExecution: number;
  /** Runs that it keeps in memory; the usual number where this is left out. */
  cached?: number;
}

/** What the process is told: whom to kill, from now on. */
export interface ToWorker {
  kill?: Kill;
}

/** What it tells. */
export type FromWorker = { type: 'ready' } | { type: 'armed' } | ({ type: 'waiting' } & Waiting);

/** A call that waits for a decision. */
export interface Waiting {
  runId: string;
  callId: string;
  digest: string;
}

const PROGRAM = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** A worker in a process of its own. Where that is killed, another one takes its place at once. */
export class CrashWorker {
  /** How often it was killed. */
  kills = 0;
  /** Why there is no worker any more: one has ended that nobody had killed. */
  failure: Error | undefined;
  /** Told what begins to wait, at least once. */
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

  /** Starts the process and resolves when its worker is made. Rejects where it ends before that without having been killed. */
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
    // Whoever waits for it hears of it; it may be that nobody does.
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

  /** Says whom to kill at which point; undefined: nobody. */
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
