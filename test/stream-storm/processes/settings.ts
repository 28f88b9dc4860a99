/** The settings of all processes of a storm, passed as the JSON of their first argument. */
export interface ProcessSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  redisUrl: string;
}

/** The settings of a worker. */
export interface WorkerSetting extends ProcessSetting {
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
}

/** The settings of a service. */
export interface ServiceSetting extends ProcessSetting {
  port: number;
  /** How long it keeps serving after SIGTERM, in milliseconds. */
  drainMs: number;
}

/** A call that waits for an approval. */
export interface Waiting {
  runId: string;
  callId: string;
  digest: string;
}

/** A message from a worker. */
export type WorkerReply = { type: 'ready' } | ({ type: 'waiting' } & Waiting);
