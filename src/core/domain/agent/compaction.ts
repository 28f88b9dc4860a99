/**
 * What an event takes out of the window. It is recorded, so that the window is the same wherever it is folded; the
 * record of events itself keeps everything.
 */
export interface Compaction {
  /** Tool results that gave way to a marker: the offset of their event and their place in it. */
  evicted?: [offset: number, index: number][];
  /** The events between `head` and `tail` (offsets of the events that stay on both sides; null: up to the end) gave way to the content of this event. */
  summarised?: { head: number; tail: number | null };
}

/** How far the window of an agent may grow, and what happens then. Pinned in the snapshot. */
export interface WindowPolicy {
  /** Tokens, instructions and tools included. */
  maxTokens: number;
  /** Bytes of JSON. */
  maxBytes: number;
  /** The newest tool results that stay as long as anything else can be taken out. */
  keepResults: number;
  /** Where evicting results is not enough, a model call summarises the older part. False: the run ends instead. */
  summarise: boolean;
  /** The model that summarises, `provider/model`; the agent's own otherwise. */
  summaryModel?: string;
}
