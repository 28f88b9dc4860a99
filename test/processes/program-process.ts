import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A program of the tests in a process of its own, which can be killed and started again. It says `ready` once it works. */
export class KillableProcess {
  /** The number of times that it was killed. */
  kills = 0;
  /** The reason why there is no process any more: it ended without a kill. */
  failure: Error | undefined;
  readonly #program: string;
  readonly #setting: object;
  readonly #listen: (message: unknown) => void;
  #child: ChildProcess | undefined;

  /** `setting` is passed as JSON. `listen` is called with the messages of the process. */
  constructor(program: string, setting: object, listen: (message: unknown) => void = () => undefined) {
    this.#program = program;
    this.#setting = setting;
    this.#listen = listen;
  }

  /** Starts the process and waits until it is ready. Throws if it ends before. */
  async start(): Promise<void> {
    const child = fork(this.#program, [JSON.stringify(this.#setting)], { stdio: ['ignore', 2, 2, 'ipc'] });
    this.#child = child;
    child.on('message', this.#listen);
    const ended = once(child, 'exit').then(() => {
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      if (this.#child === child) this.failure = new Error(`A process ended by itself (${how}): see its output above`);
      throw new Error(`A process ended before it was ready (${how}): see its output above`);
    });
    await Promise.race([once(child, 'message'), ended]);
    // From now on, the end of the process is not an error of the start.
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
    await this.end('SIGKILL');
  }

  /** Ends the process by a signal, and returns its exit code, which a killed process does not have. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }
}
