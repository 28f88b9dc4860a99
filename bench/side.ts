/** Something that runs the script and is measured: Longhaul, or the loop that it is compared with. */
export interface Side {
  name: 'longhaul' | 'loop';
  /** The activity types of a model call and of a tool call. */
  modelActivity: string;
  toolActivity: string;
  /** Starts a run of so many steps and a final answer, and waits for its end. Rejects unless it came to that answer. */
  run(runId: string, steps: number): Promise<void>;
  /** Drains its worker. */
  stop(): Promise<void>;
}

/** What a side is made from. */
export interface SideSurroundings {
  address: string;
  namespace: string;
  /** Of the fake provider. */
  baseURL: string;
  /** Length of a tool result. */
  resultChars: number;
}
