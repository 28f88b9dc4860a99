import type { WindowOptions } from '../src/define/options/window-options.ts';

/** What the process of the endless run's worker is started with, as the JSON of its first argument. */
export interface EndlessSetting {
  address: string;
  namespace: string;
  /** Of the fake provider. */
  baseURL: string;
  /** Length of a tool result. */
  resultChars: number;
  window: WindowOptions;
  /** The workflows, bundled elsewhere: a bundler would leave its memory behind. */
  bundlePath: string;
}

/** What the bench asks of that process: to measure the run of this id from its first step on, and to say what it saw of it; or to end. */
export type EndlessRequest = { type: 'watch'; runId: string; steps: number } | { type: 'report' } | { type: 'stop' };

/** What it answers. It says `ready` by itself, once its worker is made, and `sampled` whenever it has read its memory. */
export type EndlessReply =
  | { type: 'ready' }
  | { type: 'watching' }
  | ({ type: 'sampled' } & WorkerSample)
  | ({ type: 'report' } & StepTimes);

/** What the worker's process has used and holds at a step. */
export interface WorkerSample {
  /** Steps that were behind the run. */
  step: number;
  /** Resident bytes of the process, after its heaps were collected. */
  rss: number;
  /** Bytes that its main heap held then. */
  heap: number;
  /** Bytes that the heap of the thread held that runs workflows. */
  workflowHeap: number;
  /** User and system time so far, in milliseconds, without what the readings took. */
  cpuMs: number;
}

/** When the steps of the run began. */
export interface StepTimes {
  /** When the worker began each model call, the final answer's included, in milliseconds, without the time that reading the memory took. */
  starts: number[];
  /** Attempts of activities beyond the first. */
  retries: number;
}
