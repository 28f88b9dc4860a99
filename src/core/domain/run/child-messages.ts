// The contract between a run, its children, and the activities that read them. Plain JSON; see `src/core/protocol.ts`.

import type { JsonObject } from '../json/json.ts';

/** Answer of the `childInput` query. */
export interface ChildInputAnswer {
  input?: string;
  deps?: JsonObject;
}

/** Input of `readResult`. */
export interface ReadResultInput {
  runId: string;
  /** The result is null while the run goes on. Absent: the activity waits for the end. */
  ifEnded?: true;
  /** The result of this turn of a session, instead of that of the whole run. 1-based. */
  turn?: number;
  /** An output that was cut to fit into the closing event is read from the history of the run. */
  whole?: true;
}

/** Input of `readCallInput`: the run, and its call. */
export interface ReadCallInput {
  runId: string;
  eventId: string;
  index: number;
}

/** Argument of the Signal `reportEnd`. */
export interface ReportEndInput {
  /** The id of the run that is told. */
  to: string;
}

/** Argument of the Signal `childEnded`. */
export interface ChildEndedInput {
  runId: string;
  /** The turn that has ended, of a session that goes on. 1-based. */
  turn?: number;
}

/** Argument of the Signal `childWaiting`. */
export interface ChildWaitingInput {
  runId: string;
  waiting: boolean;
}

/** Argument of the Signal `pausedAbove`. */
export interface PausedAboveInput {
  paused: boolean;
}

/** Argument of the Signal `startedAgain`. */
export interface StartedAgainInput {
  /** The id of the run that was started again. */
  runId: string;
  /** The Temporal run id of its first execution. */
  firstRunId: string;
}

/** Input of `checkParent`. */
export interface CheckParentInput {
  runId: string;
  /** The Temporal run id of its first execution. A later run of the same id is not the parent. */
  firstRunId?: string;
}

/** Result of `checkParent`. */
export interface CheckParentOutput {
  ended: boolean;
}
