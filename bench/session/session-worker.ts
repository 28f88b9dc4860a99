import { fileURLToPath } from 'node:url';
import type { WorkerSample, StepTimes } from '../endless/endless-clock.ts';
import { MEASURED_MEMORY } from '../sides/measured-memory.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import type { SessionReply, SessionRequest, SessionSetting } from './session-messages.ts';

const PROGRAM = fileURLToPath(new URL('../processes/session.ts', import.meta.url));

/** The worker of sessions, in a separate process. */
export class SessionWorker {
  /** The readings of its memory since the last `watch`. */
  readonly samples: WorkerSample[] = [];
  readonly #process: ProgramProcess<SessionRequest, SessionReply>;

  private constructor(process: ProgramProcess<SessionRequest, SessionReply>) {
    this.#process = process;
  }

  /** Starts the process and waits until its worker is created. Throws if it ends before. */
  static async start(setting: SessionSetting): Promise<SessionWorker> {
    const process = new ProgramProcess<SessionRequest, SessionReply>(PROGRAM, setting, { execArgv: MEASURED_MEMORY });
    await process.start();
    return new SessionWorker(process);
  }

  /** Rejects once the process has ended. */
  get died(): Promise<never> {
    return this.#process.died;
  }

  /** Measures the session of this id. `sampled` is called with every reading of the memory. */
  async watch(runId: string, steps: number, sampled: (sample: WorkerSample) => void): Promise<void> {
    this.#process.listen('sampled', ({ type: _, ...sample }) => {
      this.samples.push(sample);
      sampled(sample);
    });
    await this.#process.ask({ type: 'watch', runId, steps }, 'watching');
  }

  /** Returns the start times of the model calls of the session that is measured. */
  async times(): Promise<StepTimes> {
    return this.#process.ask({ type: 'report' }, 'report');
  }

  /** Returns the times of the calls of the provider and of empty activities since the last such request, by id. */
  async calls(): Promise<Map<string, number>> {
    const { calls } = await this.#process.ask({ type: 'calls' }, 'calls');
    return new Map(calls);
  }

  /** Returns the resident bytes of the process, after its heaps were collected. */
  async rss(): Promise<number> {
    const { rss } = await this.#process.ask({ type: 'memory' }, 'memory');
    return rss;
  }

  /** Drains the worker and ends the process, by force if it takes too long. */
  async stop(): Promise<void> {
    await this.#process.stop({ type: 'stop' });
  }
}
