import { fixed, listOf, object, optional, type Shape, TEXT, TIMESTAMP, union, type ValueOf } from '../core/domain/shape.ts';
import { RUN_STATUS } from '../core/domain/run.ts';

const RUN = object({
  /** The id of the run. */
  runId: TEXT,
  /** The name of the agent or the program. */
  agentName: optional(TEXT),
  /** Its status at the time of the item. */
  status: optional(RUN_STATUS),
  /** The tools whose calls wait for a decision; `raise_limits` for a limit. */
  waitingFor: listOf(TEXT),
  /** Its title. Absent if it has none. */
  title: optional(TEXT),
  /** When it was started, as ISO 8601 in UTC. */
  startTime: TIMESTAMP,
  /** When it ended, as ISO 8601 in UTC. Absent while it runs. */
  endTime: optional(TIMESTAMP),
});

/** A run in the feed. */
export interface FeedRun extends ValueOf<typeof RUN> {}
export const FEED_RUN: Shape<FeedRun> = RUN;

/** One item of the feed, without its cursor. */
export type FeedItemContent =
  /** The run has started. */
  | { type: 'started'; run: FeedRun }
  /** The run waits for a decision, or for other decisions than before. At the beginning and after a gap, sent for each waiting run. */
  | { type: 'waiting'; run: FeedRun }
  /** The run no longer waits. */
  | { type: 'decided'; run: FeedRun }
  /** The run has ended. */
  | { type: 'ended'; run: FeedRun }
  /** Items may be missing here: list the runs again. */
  | { type: 'gap' };

/** One item of the feed. `cursor` is opaque: a feed that starts from it continues after this item, or with a gap. */
export type FeedItem = FeedItemContent & { cursor: string };

const news = <const Type extends string>(type: Type): Shape => object({ type: fixed(type), run: FEED_RUN });

/** The data of one message of the feed. Its cursor is the id of the message. */
export const FEED_ITEM: Shape = union(news('started'), news('waiting'), news('decided'), news('ended'), object({ type: fixed('gap') }));

/** The options of a feed. */
export interface FeedOptions {
  /** Only runs of this agent or program. */
  agent?: string;
  /** True: only runs that wait, and runs that no longer do. */
  waiting?: boolean;
  /** The feed begins after the item with this cursor. */
  cursor?: string;
  /** Ends the feed. */
  signal?: AbortSignal;
}
