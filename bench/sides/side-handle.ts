import { type ChildProcess, fork } from 'node:child_process';
import type { SideReply, SideRequest, SideRun, SideSetting } from './side-messages.ts';

const STOP_WITHIN_MS = 15_000;

/** A side that runs in a process of its own. */
export class SideHandle {
  readonly #child: ChildProcess;
  readonly #runs = new Map<string, PromiseWithResolvers<SideRun>>();
  readonly #ready = pending<void>();
  readonly #ended: Promise<void>;
  #cpu = pending<number>();

  private constructor(program: URL, setting: SideSetting) {
    // Its own output is that of libraries, or the reason of its end: both belong on stderr.
    this.#child = fork(program, [JSON.stringify(setting)], { stdio: ['ignore', 2, 2, 'ipc'] });
    this.#child.on('message', (reply: SideReply) => this.#take(reply));
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#fail(new Error(`The process of "${program.pathname}" ended (${signal ?? code}): see its output above`));
        resolve();
      });
    });
  }

  /** Starts the program and waits until its worker polls. Throws if it ends before. */
  static async start(program: URL, setting: SideSetting): Promise<SideHandle> {
    const handle = new SideHandle(program, setting);
    await handle.#ready.promise;
    return handle;
  }

  /** Does one run of `steps` steps. Throws only if the process ends: the ending of the run is in the answer. */
  async run(runId: string, steps: number): Promise<SideRun> {
    const run = pending<SideRun>();
    this.#runs.set(runId, run);
    this.#ask({ type: 'run', runId, steps });
    return run.promise;
  }

  /** CPU time of the process so far, in milliseconds. */
  async cpuMs(): Promise<number> {
    this.#cpu = pending<number>();
    this.#ask({ type: 'cpu' });
    return this.#cpu.promise;
  }

  /** Drains the worker and ends the process, by force if it takes too long. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#ask({ type: 'stop' });
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.#ended;
    clearTimeout(force);
  }

  #ask(request: SideRequest): void {
    this.#child.send(request);
  }

  #take(reply: SideReply): void {
    switch (reply.type) {
      case 'ready':
        return this.#ready.resolve();
      case 'cpu':
        return this.#cpu.resolve(reply.ms);
      case 'ran':
        this.#runs.get(reply.runId)?.resolve(reply);
        this.#runs.delete(reply.runId);
    }
  }

  #fail(error: Error): void {
    for (const waiting of [this.#ready, this.#cpu, ...this.#runs.values()]) waiting.reject(error);
  }
}

/** A promise that may be rejected before a caller awaits it. */
function pending<Value>(): PromiseWithResolvers<Value> {
  const waiting = Promise.withResolvers<Value>();
  waiting.promise.catch(() => undefined);
  return waiting;
}
