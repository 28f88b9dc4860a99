import type { AggregatedUsage } from '../../../../core/domain/usage.ts';
import type { StopReason } from '../../../../core/domain/run.ts';

/** The metadata of an answer in a chat. The first chunk has the run and the turn, the last one the rest. */
export interface ChatMetadata {
  /** The id of the session, which is a run: other routes of the service take it. */
  runId: string;
  /** 1-based. */
  turn: number;
  stopReason?: StopReason;
  /** The usage of the turn so far. */
  usage?: AggregatedUsage;
  /** The cursor of the session's stream behind what was sent. */
  cursor?: string;
}
