import type { AgentSnapshot } from './agent.ts';
import type { ErrorCode } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { LimitChanges } from './limits.ts';
import type { ProgramInput } from './program-run.ts';
import type { RunResultFields } from './result.ts';
import type { RunInput } from './run-input.ts';
import type { NextTurnInput } from './requests.ts';
import type { Notice } from './run.ts';

export type { NextTurnInput } from './requests.ts';

export type ChildStart = { kind: 'agent'; input: RunInput } | { kind: 'program'; input: ProgramInput };

/** A child that a run waits for. */
export interface ChildCall {
  runId: string;
  /** The last time at which it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** For an agent that a tool call starts: the id of the event of the call, and its index in the content of that event. */
  of?: { eventId: string; index: number };
  /** Absent: an earlier execution has started it. */
  start?: ChildStart;
  /** For a session that the run keeps: the turn that is waited for. Its end is that of the wait. */
  turn?: number;
  /** The message that begins the turn. Absent for the first turn, and if an earlier execution has sent it. */
  next?: NextTurnInput;
  /** True once the run continues in its next execution: the child is left to that. Must not change anything. */
  isLeft: () => boolean;
  /** True once the run gives the child up, although the run itself continues: the child is cancelled. Must not change anything. */
  isGivenUp?: () => boolean;
}

/** The outcome of the wait for a child. */
export type ChildOutcome =
  /** The child has ended, with any status. */
  | { type: 'ended'; result: RunResultFields }
  /** The child did not start (`unstarted`), or has ended without a result. */
  | { type: 'failed'; code: ErrorCode; message: string; unstarted?: true }
  /** The child was cancelled, with the run or because it was given up. The result is absent if the child has not ended in time. */
  | { type: 'cancelled'; result?: RunResultFields }
  /** The child continues, and the next execution waits for it. */
  | { type: 'left'; seenAt: number };

/** An agent that runs as the child of a tool call. */
export interface RunningAgent {
  /** The call: the id of its event, and its index in the content of that event. */
  eventId: string;
  index: number;
  runId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The last time at which it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** The part of the limits of the run that it has been given. Absent if the run shares no limit with it. */
  given?: LimitChanges;
  /** The number of runs that it may start itself, with those below them. */
  runs: number;
  /** The turn that is waited for, if the agent is kept between calls. 1-based. */
  turn?: number;
}

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

// The contract between a run, its children, and the activities that read them. Plain JSON; see `src/core/protocol.ts`.

/** Answer of the `childInput` query. */
export interface ChildInputAnswer {
  input?: string;
  deps?: JsonObject;
}

/** Input of `readResult`. */
export interface ReadResultInput {
  runId: string;
  /** The result is null while the run is running. Absent: the activity waits for the end. */
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

/** Argument of the Signal `notifyOnEnd`. */
export interface NotifyOnEndInput {
  /** The id of the run that is told. */
  to: string;
}

/** Argument of the Signal `childEnded`. */
export interface ChildEndedInput {
  runId: string;
  /** The turn that has ended, of an open session. 1-based. */
  turn?: number;
}

/** Argument of the Signal `childWaiting`. */
export interface ChildWaitingInput {
  runId: string;
  waiting: boolean;
}

/** Argument of the Signal `pausedByParent`. */
export interface PausedByParentInput {
  paused: boolean;
}

/** Argument of the Signal `startedAgain`. */
export interface StartedAgainInput {
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

/** The outcome of resolving an agent or a program. */
export type Resolved =
  /** `opening`: the input and the deps that the first activity has asked the parent for. `notices`: what a person should know of the tools. */
  | { type: 'resolved'; snapshot: AgentSnapshot; opening?: ChildInputAnswer; notices?: Notice[] }
  | { type: 'cancelled' }
  /** `notifiesEnd`: the worker that failed has a `notifyEnded`. */
  | { type: 'failed'; code: ErrorCode; message: string; notifiesEnd?: true };

/** The outcome of a child that has ended. */
export type EndedChild = Extract<ChildOutcome, { type: 'ended' | 'failed' }>;

/** The end of a child as its closing event tells it. `unread`: the event does not hold the result. */
export type ChildEnd = EndedChild | { type: 'unread' };

/** The reason why a message did not reach a session. */
export interface MessageProblem {
  code: 'run_ended' | 'invalid_input';
  message: string;
}

/** A child as an activity finds it. */
export type ReadChild = EndedChild | { type: 'running' };
