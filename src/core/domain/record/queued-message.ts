import type { ContentPart } from '../content/content.ts';

/**
 * The moment at which the model reads a message. `queue`: after the current step and all its calls. `steer`: before the next
 * model call; calls that wait or have not started are given up. `interrupt`: at once; the running model call is given up as well.
 */
export type MessageMode = 'queue' | 'steer' | 'interrupt';

/** A message that a run has accepted and not yet recorded. */
export interface QueuedMessage {
  /** The id that the caller chose: a message with the same id is the same message. */
  id: string;
  content: string | ContentPart[];
  /** Absent: `queue`. */
  mode?: Exclude<MessageMode, 'queue'>;
  /** The time at which the run accepted it. ISO 8601. */
  timestamp: string;
}
