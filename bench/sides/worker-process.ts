import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A message between this process and that of a worker. */
interface Message {
  type: string;
}

const STOP_WITHIN_MS = 15_000;

/**
 * A worker in a process of its own, whose memory is measured. The program sends `ready` once its worker is created, answers each
 * request, and ends at `stop`.
 */
export class WorkerProcess<Request extends Message, Reply extends Message> {
  /** Rejects once the process has ended. */
  readonly died: Promise<never>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.died = once(child, 'exit').then(() => {
      throw new Error('The process of the worker ended: see its output above');
    });
    this.died.catch(() => undefined);
  }

  /** Starts a program with its settings, and waits until its worker is created. Throws if it ends before. */
  static async start<Request extends Message, Reply extends Message>(
    program: string,
    setting: object,
    execArgv: readonly string[],
  ): Promise<WorkerProcess<Request, Reply>> {
    const child = fork(program, [JSON.stringify(setting)], {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: [...process.execArgv, ...execArgv],
    });
    const worker = new WorkerProcess<Request, Reply>(child);
    await worker.#answer('ready');
    return worker;
  }

  /** Calls a function with every reply of a type. */
  listen<Type extends Reply['type']>(type: Type, listener: (reply: Extract<Reply, { type: Type }>) => void): void {
    this.#child.on('message', (reply: Reply) => {
      if (isReply(reply, type)) listener(reply);
    });
  }

  /** Sends a request, and returns the next reply of a type. */
  async ask<Type extends Reply['type']>(request: Request, type: Type): Promise<Extract<Reply, { type: Type }>> {
    const answer = this.#answer(type);
    this.#child.send(request);
    return answer;
  }

  /** Drains the worker and ends the process, by force if it takes too long. */
  async stop(request: Request): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_WITHIN_MS);
    if (this.#child.connected) this.#child.send(request);
    await ended;
    clearTimeout(force);
  }

  async #answer<Type extends Reply['type']>(type: Type): Promise<Extract<Reply, { type: Type }>> {
    const answered = Promise.withResolvers<Extract<Reply, { type: Type }>>();
    const listen = (reply: Reply): void => {
      if (isReply(reply, type)) answered.resolve(reply);
    };
    this.#child.on('message', listen);
    try {
      return await Promise.race([answered.promise, this.died]);
    } finally {
      this.#child.off('message', listen);
    }
  }
}

function isReply<Reply extends Message, Type extends Reply['type']>(reply: Reply, type: Type): reply is Extract<Reply, { type: Type }> {
  return reply.type === type;
}
