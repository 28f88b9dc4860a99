import type { ErrorCode } from '../errors/error.ts';
import type { ProgramInput } from '../program/messages.ts';
import type { RunResultFields } from '../run/result.ts';
import type { RunInput } from '../run/run-input.ts';
import type { NextTurnInput } from './kept-agent.ts';

/** The run to start as a child. */
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
  /** True once the run goes on in its next execution: the child is left to that. Must not change anything. */
  isLeft: () => boolean;
  /** True once the run gives the child up, although the run itself goes on: the child is cancelled. Must not change anything. */
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
  /** The child goes on, and the next execution waits for it. */
  | { type: 'left'; seenAt: number };
