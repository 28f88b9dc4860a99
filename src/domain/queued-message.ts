import type { ContentPart } from './content.ts';

/** A message to a running run that it has accepted and not yet taken in. */
export interface QueuedMessage {
  /** The caller's own: a message of the same id is the same message. */
  id: string;
  content: string | ContentPart[];
  /** Seconds since the epoch, when the run accepted it. */
  timestamp: number;
}
