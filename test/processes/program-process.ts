import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A message between this process and a program. */
export interface Message {
  type: string;
}

/** The message of a type. */
type OfType<Reply extends Message, Type extends Reply['type']> = Extract<Reply, { type: Type }>;

/** What a process may be started with. */
export interface ProgramOptions {
  execArgv?: readonly string[];
  /** True: the process may be killed by others, too, and is then started again. */
  isKilledByOthers?: boolean;
}

/** A program that does not stop on request is killed after this time. */
const STOP_WITHIN_MS = 15_000;

/**
 * A program in a separate process, which can be killed, restarted and queried. It gets a setting, sends `ready` once it works, and ends
 * with this process, however that ends (`program.ts` is its side). Its output comes from libraries, or is the reason of its end: both go to
 * stderr.
 */
export class ProgramProcess<Request extends Message = never, Reply extends Message = Message> {
  /** The number of times that it was killed. */
  kills = 0;
  /** The reason why there is no longer a process: it ended without a kill. */
  failure: Error | undefined;
  /** Rejects if the process ends without a kill. */
  readonly died: Promise<never>;
  readonly #program: string;
  readonly #setting: object;
  readonly #options: ProgramOptions;
  readonly #listeners = new Set<(reply: Reply) => void>();
  readonly #unanswered = new Set<(error: Error) => void>();
  readonly #fail: (error: Error) => void;
  #child: ChildProcess | undefined;
  #victim: ChildProcess | undefined;
  #ready: Promise<OfType<Reply, 'ready'>> = new Promise(() => undefined);

  /** `setting` is passed as JSON. */
  constructor(program: string, setting: object, options: ProgramOptions = {}) {
    this.#program = program;
    this.#setting = setting;
    this.#options = options;
    const died = Promise.withResolvers<never>();
    died.promise.catch(() => undefined);
    this.died = died.promise;
    this.#fail = died.reject;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('The program has no process');
    return pid;
  }

  /** Starts the process, and resolves once it works. Rejects if it ends before without a kill. */
  start(): Promise<OfType<Reply, 'ready'>> {
    const { execArgv = [] } = this.#options;
    const child = fork(this.#program, [JSON.stringify(this.#setting)], {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: [...process.execArgv, ...execArgv],
    });
    this.#child = child;
    const ready = new Promise<OfType<Reply, 'ready'>>((resolve, reject) => {
      child.on('message', (reply: Reply) => {
        if (isOfType(reply, 'ready')) resolve(reply);
        for (const listen of this.#listeners) listen(reply);
      });
      child.once('exit', () => {
        const error = new Error(`The process of "${this.#program}" ended (${child.signalCode ?? child.exitCode}): see its output above`);
        if (this.#hasEnded(child, error)) this.#ready.then(resolve, reject);
        else reject(error);
      });
    });
    // One who waits for the process gets the error; there may be nobody.
    ready.catch(() => undefined);
    this.#ready = ready;
    return ready;
  }

  /** Resolves when there is a process that works, however often it was killed meanwhile. */
  async whenReady(): Promise<void> {
    let last;
    do {
      last = this.#ready;
      await last;
    } while (last !== this.#ready);
  }

  /** Calls a function with every reply of a type, of this process and of its successors. Returns the function that ends it. */
  listen<Type extends Reply['type']>(type: Type, listener: (reply: OfType<Reply, Type>) => void): () => void {
    const listen = (reply: Reply): void => {
      if (isOfType(reply, type)) listener(reply);
    };
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }

  /** Sends a request, and returns the next reply of a type, or the next of them that fits. Rejects if the process ends before. */
  ask<Type extends Reply['type']>(
    request: Request,
    type: Type,
    fits: (reply: OfType<Reply, Type>) => boolean = () => true,
  ): Promise<OfType<Reply, Type>> {
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void => {
        forget();
        this.#unanswered.delete(failed);
        reject(error);
      };
      const forget = this.listen(type, (reply) => {
        if (!fits(reply)) return;
        forget();
        this.#unanswered.delete(failed);
        resolve(reply);
      });
      if (this.#child === undefined) return failed(new Error('The program has no process'));
      this.#unanswered.add(failed);
      this.#child.send(request, (error) => {
        if (error !== null) failed(error);
      });
    });
  }

  /** Kills the process with SIGKILL. Resolves once it is dead and its successor is being started. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || hasExited(child)) return;
    this.#victim = child;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Kills the process, and resolves once another works. */
  async killAndStart(): Promise<void> {
    await this.kill();
    await this.whenReady();
  }

  /** Ends the process for good: by a request, and by force if that takes too long; without a request at once. */
  async stop(request?: Request): Promise<void> {
    if (request === undefined || this.#child?.connected !== true) return void (await this.end('SIGKILL'));
    const child = this.#child;
    child.send(request);
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.end();
    clearTimeout(force);
  }

  /** Waits for the end of the process, by a signal if one is given. Returns its exit code, which a killed process does not have. */
  async end(signal?: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || hasExited(child)) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    if (signal !== undefined) child.kill(signal);
    await ended;
    return child.exitCode;
  }

  /** Returns true if the process was killed, and another is being started. */
  #hasEnded(child: ChildProcess, error: Error): boolean {
    for (const failed of this.#unanswered) failed(error);
    this.#unanswered.clear();
    if (this.#child !== child) return false;
    if (child.signalCode === 'SIGKILL' && (this.#victim === child || this.#options.isKilledByOthers === true)) {
      this.kills += 1;
      void this.start();
      return true;
    }
    this.failure = error;
    this.#fail(error);
    return false;
  }
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function isOfType<Reply extends Message, Type extends Reply['type']>(reply: Reply, type: Type): reply is OfType<Reply, Type> {
  return reply.type === type;
}
