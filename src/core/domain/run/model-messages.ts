import type { RecordedResponse } from '../model/recorded-response.ts';
import type { HookRecord } from '../hooks/hook-record.ts';
import type { Spent, UsageStats } from '../model/usage.ts';
import type { DataInput, OfRun } from './activity-messages.ts';

/** Input of `callModel`: a reference to the conversation, never the conversation. */
export interface CallModelInput extends OfRun, Pick<DataInput, 'principal'> {
  /** Digest of the snapshot. */
  agent: string;
  /** The number of events that form the conversation. */
  through: number;
  lastEventId: string;
  /** The ids of the tool results in the last event, if it is a batch of them. */
  results?: string[];
  /** The ids of the other events since the last response, oldest first: the history holds them nowhere else. Empty for those that it holds. */
  earlierIds?: string[];
  /** The number of events since the last response that are not in the window, if there are any. */
  skipped?: number;
  /** The digest of the events since the last response, if the workflow has handed them to the process of its worker. */
  news?: string;
  final?: true;
  /** The agent's choice of a tool, which holds for the first step of a turn, holds for this call. */
  firstStep?: true;
  /** The activity first asks the memory of the agent. */
  recall?: true;
  /** The number of the step, 1-based. Only for hooks. */
  step?: number;
}

/** Input of `summarise`: a part of the window, given by the offsets of the events on both sides of it. */
export interface SummariseInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  through: number;
  lastEventId: string;
  head: number | null;
  tail: number | null;
  /** Bytes of JSON that the summary may have. */
  maxBytes: number;
  /** The text is a title, and no summary. */
  purpose?: 'title';
}

/** Result of `summarise`: a summary, or the partial answer of a call that was cancelled. */
export type SummariseOutput = Summary | { type: 'aborted'; partial?: RecordedResponse };

/** The summary of a part of the window. */
export interface Summary {
  /** The id of the event of the summary. */
  id: string;
  text: string;
  usage: UsageStats | null;
  /** The cost of the failed attempts before this one. */
  failedAttempts?: Spent;
  /** The answers of hooks about the compaction. */
  hooks?: HookRecord[];
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse };
