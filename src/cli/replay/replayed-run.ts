/** A run to replay, from wherever it comes. */
export interface ReplayedRun {
  runId: string;
  /** The file that it was read from. */
  file?: string;
  /** False where the server has removed earlier executions. */
  complete: boolean;
  /** The oldest first; loaded one at a time, because a history may be large. */
  executions: ReplayedExecution[];
}

/** One execution of such a run. */
export interface ReplayedExecution {
  /** Temporal's run id, where it is known. */
  executionId?: string;
  /** Its history: the server's, or the JSON of a file. */
  load(): Promise<unknown>;
}
