import type { StepTimes, WorkerSample } from '../endless/endless-clock.ts';
import { fileURLToPath } from 'node:url';
import { MEASURED_MEMORY } from '../sides/measured-memory.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';

/** The settings of the process of a worker for sessions, passed as the JSON of its first argument. */
export interface SessionSetting {
  address: string;
  namespace: string;
  /** The path of the workflow bundle. */
  bundlePath: string;
  /** The length of an answer in characters. */
  resultChars: number;
  /** The number of runs that the worker caches. Default: the SDK's. */
  cached?: number;
}

/** A message to that process: measure the session of this id, report, read the memory, or end. */
export type SessionRequest =
  | { type: 'watch'; runId: string; steps: number }
  | { type: 'report' }
  | { type: 'calls' }
  | { type: 'memory' }
  | { type: 'stop' };

/** A message from that process. It sends `ready` once its worker is created, and `sampled` after each reading of its memory. */
export type SessionReply =
  | { type: 'ready' }
  | { type: 'watching' }
  | ({ type: 'sampled' } & WorkerSample)
  | ({ type: 'report' } & StepTimes)
  /** The times of the calls of the provider, and of empty activities, since the last such reply: by id, in milliseconds since the epoch. */
  | { type: 'calls'; calls: [id: string, at: number][] }
  /** Resident bytes of the process, after its heaps were collected. */
  | { type: 'memory'; rss: number };

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
