import type { SessionLimits } from './session-limits.ts';
import type { SpentByTurns, TurnResultFields } from './session-state.ts';

/** A limit that a session has reached. */
export interface SessionLimitReached {
  limit: 'turns' | 'totalTokens' | 'costUsd' | 'deadline';
  /** For a person to read: `10 of 10 turns are used`. */
  message: string;
}

/** The part of the `status` of a session that runs which end with their answer do not have. */
export interface SessionView {
  title?: string;
  /** The number of turns that have begun. */
  turns: number;
  /** The number of the current turn. Absent while the session is idle. */
  turn?: number;
  /** The amounts of all turns; those beside this field are of the newest turn. */
  spent: SpentByTurns;
  limits: Required<SessionLimits>;
  /** The limit that is reached: messages are refused until it is raised. Absent if there is none. The first if there are several. */
  limitReached?: SessionLimitReached;
  /** ISO 8601: the end of the last turn. Absent before the first. */
  idleSince?: string;
}

/** Argument of the `turn` query. */
export interface TurnQuestion {
  /** 1-based. Default: the newest that has ended. */
  turn?: number;
}

/** Answer of the `turn` query. */
export interface TurnView {
  version: 1;
  /** The number of turns that have begun. */
  turns: number;
  /** The number of the current turn. Absent while the session is idle. */
  running?: number;
  /** The number of the first turn whose result this execution of the session has: earlier ones are in the histories before it. */
  firstTurn: number;
  /** Absent if the turn has not ended, or if this execution does not have it. */
  result?: TurnResultFields;
}
