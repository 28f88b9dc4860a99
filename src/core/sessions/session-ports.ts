import type { KeptAgent, ReadCallInput, Resolved } from '../domain/children.ts';
import type { MessageContent } from '../domain/sessions.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** Work beside the wait for a message. */
export interface Beside<Outcome> {
  /** Undefined until the work has ended. */
  readonly outcome: Outcome | undefined;
  /** Gives the work up: its outcome is not waited for any more. */
  giveUp(): void;
}

/** Every effect of a session. */
export interface SessionPorts extends RunPorts {
  /** True if a session should continue as new before it waits: waking it would replay a long history. */
  continueBeforeSleep(): boolean;
  /** Runs a turn of a session, which an interrupt cancels: meanwhile `cancelRequested` is true once a caller has interrupted it. */
  inTurn<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Begins work that runs while the session waits for a message. It must not reject. */
  beside<Outcome>(work: () => Promise<Outcome>): Beside<Outcome>;
  /** Resolves the agent of the session again, with the deps that the session has now. */
  refreshAgent(): Promise<Resolved>;
  /** Reads a message that is too large to be stored again, from the call of the run that keeps the session. */
  readMessage(call: ReadCallInput): Promise<MessageContent>;
  /** Tells the run that keeps the session of the end of a turn. */
  turnEnded(runId: string, turn: number): Promise<void>;
  /** Closes sessions that this one keeps. A running turn ends first. */
  closeKept(kept: readonly KeptAgent[]): Promise<void>;
  /** Called at the end of a turn of a session: cancels the children that no step waits for any more. */
  endChildren(state: RunState): Promise<void>;
}
