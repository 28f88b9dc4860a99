import type { LimitChanges } from '../agent/limits.ts';
import type { Permissions } from '../permissions/permissions.ts';

/** An agent that a run keeps between the calls of its tool: a session, which the run closes when it ends itself. */
export interface KeptAgent {
  /** The name of the tool. */
  tool: string;
  /** The name of the agent. */
  agent: string;
  runId: string;
  /** The number of turns that were asked for. */
  turns: number;
}

/** Argument of the Signal `nextTurn`: a message of a run to a session that it keeps. */
export interface NextTurnInput {
  /** The number of the turn that answers the message. 1-based, from 2: a session begins with the first message. */
  turn: number;
  /** Absent if it is too large to be stored again: an activity of the session asks the run for it. */
  content?: string;
  /** The call that holds the whole message: the id of its event, and its index in the content of that event. */
  of?: { eventId: string; index: number };
  /** The part of the limits of the run that the turn is given. Absent if the run shares no limit with it. */
  left?: LimitChanges;
  /** The number of runs that the turn may start, with those below them. */
  runs: number;
  /** The policies that hold for the run, if they have changed since it began. */
  permissions?: Permissions[];
}
