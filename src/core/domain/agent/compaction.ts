import type { HookRecord } from '../hooks/hook-record.ts';

/**
 * The changes by which an event shrinks the window. They are recorded, so that every process that folds the events gets the same
 * window. The record of events itself keeps everything.
 */
export interface Compaction {
  /** Tool results that are replaced by a marker: the offset of their event and their index in its content. */
  evicted?: [offset: number, index: number][];
  /**
   * The events between `head` and `tail` are replaced by the content of this event. Both are offsets of events that stay; `head`
   * is null for the beginning of the window, and `tail` for its end.
   */
  summarised?: { head: number | null; tail: number | null };
  /** The offsets of events with entries of a memory that are taken out. */
  dropped?: number[];
  /** The answers of hooks about the summary. */
  hooks?: HookRecord[];
}

/** The bounds of the window of an agent, and the way in which it is compacted. Pinned in the snapshot. */
export interface WindowPolicy {
  /** Tokens, instructions and tools included. */
  maxTokens: number;
  /** Bytes of JSON. */
  maxBytes: number;
  /** The number of newest tool results that stay as long as anything else can be taken out. */
  keepResults: number;
  /** True: a model call summarises the older part if evicting results is not enough. False: the run ends instead. */
  summarise: boolean;
  /** The model that summarises, as `provider/model`. Default: the agent's own. */
  summaryModel?: string;
}
