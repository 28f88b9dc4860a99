import { fileURLToPath } from 'node:url';
import { MEASURED_MEMORY } from '../sides/measured-memory.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import type { EndlessReply, EndlessRequest, EndlessSetting, WorkerSample, StepTimes } from './endless-messages.ts';

const PROGRAM = fileURLToPath(new URL('../processes/endless.ts', import.meta.url));

/** The worker of the endless run, in a separate process. */
export class EndlessWorker {
  /** The readings of its memory since the last `watch`. */
  readonly samples: WorkerSample[] = [];
  readonly #process: ProgramProcess<EndlessRequest, EndlessReply>;

  private constructor(process: ProgramProcess<EndlessRequest, EndlessReply>) {
    this.#process = process;
  }

  /** Starts the process and waits until its worker is created. Throws if it ends before. */
  static async start(setting: EndlessSetting): Promise<EndlessWorker> {
    const process = new ProgramProcess<EndlessRequest, EndlessReply>(PROGRAM, setting, { execArgv: MEASURED_MEMORY });
    await process.start();
    return new EndlessWorker(process);
  }

  /** Rejects once the process has ended. */
  get died(): Promise<never> {
    return this.#process.died;
  }

  /** Measures the run of this id. `sampled` is called with every reading of the memory. */
  async watch(runId: string, steps: number, sampled: (sample: WorkerSample) => void): Promise<void> {
    this.samples.length = 0;
    this.#process.listen('sampled', ({ type: _, ...sample }) => {
      this.samples.push(sample);
      sampled(sample);
    });
    await this.#process.ask({ type: 'watch', runId, steps }, 'watching');
  }

  /** Returns the start times of the run's steps. */
  async times(): Promise<StepTimes> {
    return this.#process.ask({ type: 'report' }, 'report');
  }

  /** Drains the worker and ends the process, by force if it takes too long. */
  async stop(): Promise<void> {
    await this.#process.stop({ type: 'stop' });
  }
}
