import type { EndlessReply, EndlessRequest, EndlessSetting, StepTimes, WorkerSample } from './endless-clock.ts';
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

/** A message to that process: one for the process of an endless run, or report the calls, or read the memory. */
export type SessionRequest = EndlessRequest | { type: 'calls' } | { type: 'memory' };

/** A message from that process. */
export type SessionReply =
  | EndlessReply
  /** The times of the calls of the provider, and of empty activities, since the last such reply: by id, in milliseconds since the epoch. */
  | { type: 'calls'; calls: [id: string, at: number][] }
  /** Resident bytes of the process, after its heaps were collected. */
  | { type: 'memory'; rss: number };

const SESSION_PROGRAM = fileURLToPath(new URL('../processes/session.ts', import.meta.url));

/** A worker in a separate process that reads its time and memory while it does the steps of one run. */
export class MeasuredWorker {
  /** The readings since `watch`. */
  readonly samples: WorkerSample[] = [];
  protected readonly process: ProgramProcess<SessionRequest, SessionReply>;

  constructor(program: string, setting: EndlessSetting | SessionSetting) {
    this.process = new ProgramProcess(program, setting, { execArgv: MEASURED_MEMORY });
  }

  /** Starts the process and waits until its worker is created. Throws if it ends before. */
  async start(): Promise<this> {
    await this.process.start();
    return this;
  }

  /** Rejects once the process has ended. */
  get died(): Promise<never> {
    return this.process.died;
  }

  /** Measures the run of this id. `sampled` is called with every reading of the memory. */
  async watch(runId: string, steps: number, sampled: (sample: WorkerSample) => void): Promise<void> {
    this.process.listen('sampled', ({ type: _, ...sample }) => {
      this.samples.push(sample);
      sampled(sample);
    });
    await this.process.ask({ type: 'watch', runId, steps }, 'watching');
  }

  /** Returns the start times of the model calls of the run that is measured. */
  async times(): Promise<StepTimes> {
    return this.process.ask({ type: 'report' }, 'report');
  }

  /** Drains the worker and ends the process, by force if it takes too long. */
  async stop(): Promise<void> {
    await this.process.stop({ type: 'stop' });
  }
}

/** The worker of sessions, in a separate process. */
export class SessionWorker extends MeasuredWorker {
  constructor(setting: SessionSetting) {
    super(SESSION_PROGRAM, setting);
  }

  /** Returns the times of the calls of the provider and of empty activities since the last such request, by id. */
  async calls(): Promise<Map<string, number>> {
    const { calls } = await this.process.ask({ type: 'calls' }, 'calls');
    return new Map(calls);
  }

  /** Returns the resident bytes of the process, after its heaps were collected. */
  async rss(): Promise<number> {
    const { rss } = await this.process.ask({ type: 'memory' }, 'memory');
    return rss;
  }
}
