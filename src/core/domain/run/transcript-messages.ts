import type { Folded, WindowEvent } from '../record/window.ts';

/**
 * Events that a model call is the first to be given, as the workflow hands them to the process of its worker, which need not ask for
 * them then.
 */
export interface NewEvents {
  /** The number of events before them, and the id of the last of those, or an empty text. */
  since: number;
  sinceEventId: string;
  events: Folded[];
  /**
   * A digest of the events. The input of the activity has it as well: a workflow task that is executed again may record other events
   * with the same ids.
   */
  digest: string;
}

/** Argument of the `transcript` query. */
export interface TranscriptQuestion {
  /** The windows that the activity has, the newest first, each by the last event that it includes. */
  known: { through: number; lastEventId: string }[];
  /** The index at which the next page begins, in the list of the previous answer. */
  from: number;
}

/** Answer of the `transcript` query: a page of the events that the activity lacks. */
export type TranscriptAnswer = TranscriptPage &
  (
    | /** Events that extend the activity's window after `since` events. */ { type: 'events'; since: number; events: Folded[] }
    | /** The whole window, because the run knows none of the activity's. */ { type: 'window'; events: WindowEvent[] }
  );

/** The position of a page in its list, and the window of the run to which the list leads. */
export interface TranscriptPage {
  through: number;
  lastEventId: string;
  from: number;
  total: number;
}
