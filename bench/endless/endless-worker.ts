import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EndlessReply, EndlessRequest, EndlessSetting, WorkerSample, StepTimes } from './endless-messages.ts';

const PROGRAM = fileURLToPath(new URL('../processes/endless.ts', import.meta.url));
const PRELOADED = new URL('thread-heap.ts', import.meta.url).href;
/** V8 enlarges the young generation at will, by up to 100 MB, and keeps it so. With a fixed size, the other memory is visible. */
const V8_FLAGS = ['--expose-gc', '--min-semi-space-size=16', '--max-semi-space-size=16'];
const STOP_WITHIN_MS = 15_000;

/** The worker of the endless run, in a process of its own. */
export class EndlessWorker {
  /** The readings of its memory since the last `watch`. */
  readonly samples: WorkerSample[] = [];
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

  /** Starts the process and waits until its worker is created. Throws if it ends before. */
  static async start(setting: EndlessSetting): Promise<EndlessWorker> {
    const child = fork(PROGRAM, [JSON.stringify(setting)], {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: [...process.execArgv, ...V8_FLAGS, '--import', PRELOADED],
    });
    const worker = new EndlessWorker(child);
    await worker.#answer('ready');
    return worker;
  }

  /** Measures the run of this id. `sampled` is called with every reading of the memory. */
  async watch(runId: string, steps: number, sampled: (sample: WorkerSample) => void): Promise<void> {
    this.samples.length = 0;
    this.#child.on('message', (reply: EndlessReply) => {
      if (reply.type !== 'sampled') return;
      const { type: _, ...sample } = reply;
      this.samples.push(sample);
      sampled(sample);
    });
    await this.#ask({ type: 'watch', runId, steps }, 'watching');
  }

  /** Returns the start times of the run's steps. */
  async times(): Promise<StepTimes> {
    return this.#ask({ type: 'report' }, 'report');
  }

  /** Drains the worker and ends the process, by force if it takes too long. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_WITHIN_MS);
    if (this.#child.connected) this.#child.send({ type: 'stop' } satisfies EndlessRequest);
    await ended;
    clearTimeout(force);
  }

  async #ask<Type extends EndlessReply['type']>(request: EndlessRequest, type: Type): Promise<Extract<EndlessReply, { type: Type }>> {
    const answer = this.#answer(type);
    this.#child.send(request);
    return answer;
  }

  async #answer<Type extends EndlessReply['type']>(type: Type): Promise<Extract<EndlessReply, { type: Type }>> {
    const answered = Promise.withResolvers<Extract<EndlessReply, { type: Type }>>();
    const listen = (reply: EndlessReply): void => {
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

function isReply<Type extends EndlessReply['type']>(reply: EndlessReply, type: Type): reply is Extract<EndlessReply, { type: Type }> {
  return reply.type === type;
}
