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
  /** The last time when it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** For an agent started by a tool call: the id of the call's event, and its index in the event's content. */
  of?: { eventId: string; index: number };
  /** Absent: an earlier execution has started it. */
  start?: ChildStart;
  /** For a session that the run keeps: the awaited turn. The wait ends with the turn. */
  turn?: number;
  /** The message that begins the turn. Absent for the first turn, and if an earlier execution has sent the message. */
  next?: NextTurnInput;
  /** True once the run continues in its next execution, which takes over the child. Must not change anything. */
  isLeft: () => boolean;
  /** True once the run gives up the child but continues itself: the child is cancelled. Must not change anything. */
  isGivenUp?: () => boolean;
}

/** The outcome of the wait for a child. */
export type ChildOutcome =
  /** The child has ended, with any status. */
  | { type: 'ended'; result: RunResultFields }
  /** The child did not start (`unstarted`), or has ended without a result. */
  | { type: 'failed'; code: ErrorCode; message: string; unstarted?: true }
  /** The child was cancelled, along with the run or because it was given up. The result is absent if the child did not end in time. */
  | { type: 'cancelled'; result?: RunResultFields }
  /** The child continues, and the next execution waits for it. */
  | { type: 'left'; seenAt: number };

/** A call: the id of its event, and its index in the event's content. */
type CallPlace = NonNullable<ChildCall['of']>;

/** Returns a call as text: `<event id>/<index>`. */
export function callText({ eventId, index }: CallPlace): string {
  return `${eventId}/${index}`;
}

/**
 * Returns the call that a turn of a kept agent answers. After a reset, the agent may have had turns that the run no longer knows: only the call
 * says which turn answers it. Undefined for the first turn: each start has an agent of its own.
 */
export function askedBy(turn: number | undefined, of: ChildCall['of']): { call?: string } {
  return turn === undefined || turn === 1 || of === undefined ? {} : { call: callText(of) };
}

/** An agent that runs as the child of a tool call. */
export interface RunningAgent {
  /** The call: the id of its event, and its index in the event's content. */
  eventId: string;
  index: number;
  runId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The last time when it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** Its share of the run's limits. Absent if the run shares no limit with it. */
  given?: LimitChanges;
  /** The number of descendants that it may start. */
  runs: number;
  /** The awaited turn, if the agent is kept between calls. 1-based. */
  turn?: number;
}

/** An agent that a run keeps between calls of its tool: a session, which the run closes at its own end. */
export interface KeptAgent {
  /** The name of the tool. */
  tool: string;
  /** The name of the agent. */
  agent: string;
  runId: string;
  /** The number of requested turns. */
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
  /** The call that the turn answers, as its text. Absent for the first turn, which only one call can have begun. */
  call?: string;
  /** The result is null while the run is running. Absent: the activity waits for the end. */
  ifEnded?: true;
  /** The turn of a session whose result is read, instead of the whole run's. 1-based. */
  turn?: number;
  /** An output that was cut to fit into the closing event is read from the run's history. */
  whole?: true;
}

/** Input of `readCallInput`: the run and its call. */
export interface ReadCallInput {
  runId: string;
  eventId: string;
  index: number;
}

/** Argument of the Signal `notifyOnEnd`. */
export interface NotifyOnEndInput {
  /** The id of the run to notify. */
  to: string;
}

/** Argument of the Signal `childEnded`. */
export interface ChildEndedInput {
  runId: string;
  /** The turn that has ended, of an open session. 1-based. */
  turn?: number;
  /** The call that the turn answers, as its text. Absent for the first turn. */
  call?: string;
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
  /** The Temporal run id of its first execution. A later run with the same id is not the parent. */
  firstRunId?: string;
}

/** Result of `checkParent`. */
export interface CheckParentOutput {
  ended: boolean;
}

/** The outcome of resolving an agent or a program. */
export type Resolved =
  /** `opening`: the input and deps that the first activity requested from the parent. `notices`: notices about the tools. */
  | { type: 'resolved'; snapshot: AgentSnapshot; opening?: ChildInputAnswer; notices?: Notice[] }
  | { type: 'cancelled' }
  /** `notifiesEnd`: the failed worker has a `notifyEnded`. */
  | { type: 'failed'; code: ErrorCode; message: string; notifiesEnd?: true };

/** The outcome of a child that has ended. */
export type EndedChild = Extract<ChildOutcome, { type: 'ended' | 'failed' }>;

/** The end of a child as reported by its closing event. `unread`: the event does not contain the result. */
export type ChildEnd = EndedChild | { type: 'unread' };

/** The reason why a message did not reach a session. */
export interface MessageProblem {
  code: 'run_ended' | 'invalid_input';
  message: string;
}

/** The state of a child, as read by an activity. */
export type ReadChild = EndedChild | { type: 'running' };
