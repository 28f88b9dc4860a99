import type { Resolved } from '../domain/run/resolved.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** Every effect of a session. */
export interface SessionPorts extends RunPorts {
  /** True if a session should go on in the next execution before it waits: waking it would replay a long history. */
  continueBeforeSleep(): boolean;
  /** Runs a turn of a session, which an interrupt cancels: meanwhile `cancelRequested` is true once a caller has interrupted it. */
  inTurn<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Resolves the agent of the session again, with the deps that the session has now. */
  refreshAgent(): Promise<Resolved>;
  /** Called at the end of a turn of a session: cancels the children that no step waits for any more. */
  endChildren(state: RunState): Promise<void>;
}
