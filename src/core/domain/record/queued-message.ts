import type { ContentPart } from '../content/content.ts';

/**
 * When a message is read: after the current step, with all its calls; before the next model call, for which calls that
 * wait or have not started are given up; at once, for which the model call in flight is given up as well.
 */
export type MessageMode = 'queue' | 'steer' | 'interrupt';

/** A message to a running run that it has accepted and not yet taken in. */
export interface QueuedMessage {
  /** The caller's own: a message of the same id is the same message. */
  id: string;
  content: string | ContentPart[];
  /** Absent: `queue`. */
  mode?: Exclude<MessageMode, 'queue'>;
  /** Seconds since the epoch, when the run accepted it. */
  timestamp: number;
}
