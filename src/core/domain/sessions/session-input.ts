import type { SessionLimits } from './session-limits.ts';

/** The part of the input of a run that makes it a session: it stays open between its answers. */
export interface SessionInput {
  /** The limits of the whole session. Those of the agent hold for each turn. */
  limits?: SessionLimits;
  /** The number of turns after which the conversation is compacted, also if its window is not full. Default 20; `null`: never. */
  compactAfter?: number | null;
  /** Shown in lists. */
  title?: string;
  /** A model call after the first answer gives the session a title. */
  generateTitle?: true;
  /** `never`: the agent stays as it was when the session began. Absent: it is resolved again after a time without messages. */
  refresh?: 'never';
}

/** A session of callers, or one that another run keeps. */
export type SessionKind = 'session' | 'kept session';
