/** The calls of a response that have not started, with the one that starts now. */
export interface CallsLeft {
  all: number;
  /** The number of them that start an agent. */
  agents: number;
}
