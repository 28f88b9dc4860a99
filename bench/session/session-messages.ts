import type { StepTimes, WorkerSample } from '../endless/endless-clock.ts';

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
