/** The memory of an agent, pinned in its snapshot. */
export interface MemoryPolicy {
  /** The name that stands for the agent in the namespace of its memory. Absent: the agent's own. */
  name?: string;
  /** The bounds of what the first model call of a run is given from the memory. Absent: nothing. */
  recall?: RecallBounds;
  /** The model has the tools `remember`, `recall` and `forget`. */
  tools?: true;
}

/** The bounds of the entries that a model call is given from the memory. */
export interface RecallBounds {
  /** The most entries. */
  topK: number;
  /** The most bytes of their text. */
  maxBytes: number;
}

/** The bounds of an agent that sets none. `maxBytes` is also the largest that one may set. */
export const DEFAULT_RECALL: RecallBounds = { topK: 5, maxBytes: 4_096 };
