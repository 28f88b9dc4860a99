// Children: the effects of the wait for one.

import type { WaitDeadline } from '../loop/ports.ts';
import type { ChildOutcome, ChildStart, NextTurnInput } from '../domain/children.ts';

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

/** The effects of the wait for one child, in its workflow or as its history has recorded them. None of them rejects. */
export interface ChildEffects {
  /** Starts the child. Returns the problem if it does not start. */
  start(start: ChildStart): Promise<string | undefined>;
  /** Sends a session that the run keeps its next message. Returns the problem if that does not arrive: `run_ended` if the session has ended. */
  sendNext(next: NextTurnInput): Promise<MessageProblem | undefined>;
  /** Returns the end of a child that this execution has started; undefined while it goes on. */
  end(): ChildEnd | undefined;
  /** True once the child has told of its end by a signal. */
  hasReported(): boolean;
  isCancelled(): boolean;
  /** Asks the child to report its end by a signal to the id of this run. False if it has ended. */
  tell(): Promise<boolean>;
  /** Cancels the child; of a session that the run keeps, the turn alone. */
  cancel(): Promise<void>;
  /** Reads the result of the child, or of the turn that is waited for, by an activity, which waits for the end unless the child may go on. */
  read(options?: { ifEnded?: true }): Promise<ReadChild>;
  /** Waits until the condition holds or the deadline is over. A cancellation does not end the wait. */
  wait(isMet: () => boolean, deadline?: WaitDeadline): Promise<void>;
  now(): number;
}
