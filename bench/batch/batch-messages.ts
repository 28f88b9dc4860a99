import type { Message } from '../../test/processes/program-process.ts';

/** The setting of a worker process. */
export interface BatchWorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  bundlePath: string;
  apiURL: string;
}

/** The request to a worker process: for the model calls that hold one of its slots now. */
export type BatchWorkerRequest = { type: 'slots' } & Message;

export type BatchWorkerReply = { type: 'ready' } | { type: 'slots'; held: number };

/** The name of the agent of the bench. */
export const AGENT = 'reader';

/** The task queue of the bench. */
export const TASK_QUEUE = 'bench-batch';
