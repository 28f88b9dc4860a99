import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { Position, RunPosition } from '../../../../src/core/kernel/next-step.ts';
import { fromContinueAsNewState, readContinueAsNewState, toContinueAsNewState } from '../../../../src/core/kernel/continue-as-new.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';

/** The state of a run where an execution ended or begins. */
export interface ExecutionState<At extends RunPosition = Position> {
  state: RunState;
  position: At;
  inbox: Inbox;
}

/** Passes the state through the input of the next execution, and returns it as that execution reads it. */
export function carriedOver(ended: ExecutionState & { executions: number }): ExecutionState {
  const { position, ...carried } = carriedSession(ended);
  if (position.type === 'idle') throw new Error('A run that is no session is never idle');
  return { ...carried, position };
}

/** The same for a session, which may be idle. */
export function carriedSession({
  state,
  position,
  inbox,
  executions,
}: ExecutionState<RunPosition> & { executions: number }): ExecutionState<RunPosition> {
  const continuedState = toContinueAsNewState(state, position, { executions, inbox: inbox.carried() });
  const checked = readContinueAsNewState(JSON.parse(JSON.stringify(continuedState)));
  if (!checked.ok) throw new Error(checked.problem);
  return { ...fromContinueAsNewState(checked.continuedState), inbox: new Inbox(checked.continuedState.inbox) };
}
