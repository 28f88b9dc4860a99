import type { WindowOptions } from '../../src/define/agent-definition.ts';

/** The settings of the endless run's worker process, passed as the JSON of its first argument. */
export interface EndlessSetting {
  address: string;
  namespace: string;
  /** The address of the fake provider. */
  baseURL: string;
  /** The length of a tool result in characters. */
  resultChars: number;
  window: WindowOptions;
  /** The path of the workflow bundle, which is made elsewhere: a bundler would retain memory. */
  bundlePath: string;
}

/** A message to that process: measure the run of this id from its first step on, report the measurements, or end. */
export type EndlessRequest = { type: 'watch'; runId: string; steps: number } | { type: 'report' } | { type: 'stop' };

/** A message from that process. It sends `ready` once its worker is created, and `sampled` after each reading of its memory. */
export type EndlessReply =
  | { type: 'ready' }
  | { type: 'watching' }
  | ({ type: 'sampled' } & WorkerSample)
  | ({ type: 'report' } & StepTimes);

/** The CPU time and the memory of the worker's process at a step. */
export interface WorkerSample {
  /** The number of completed steps. */
  step: number;
  /** Resident bytes of the process, after its heaps were collected. */
  rss: number;
  /** Size of its main heap at that time. */
  heap: number;
  /** Size of the heap of its workflow thread at that time. */
  workflowHeap: number;
  /** User and system time so far, in milliseconds, without the time of the readings. */
  cpuMs: number;
}

/** The start times of the run's steps. */
export interface StepTimes {
  /**
   * The start time of each model call in the worker, including the final answer's, in milliseconds, without the time for
   * reading the memory.
   */
  starts: number[];
  /** Attempts of activities beyond the first. */
  retries: number;
}
