/** A run to replay, from files or a server. */
export interface ReplayedRun {
  runId: string;
  /** The file that it was read from. */
  file?: string;
  /** False if the server has removed earlier executions. */
  complete: boolean;
  /** The oldest first; loaded one at a time, because a history may be large. */
  executions: ReplayedExecution[];
}

/** One execution of such a run. */
export interface ReplayedExecution {
  /** Temporal's run id, if known. */
  executionId?: string;
  /** Loads its history: the server's, or the JSON of a file. */
  load(): Promise<unknown>;
}
