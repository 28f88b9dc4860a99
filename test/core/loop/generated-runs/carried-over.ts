import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import type { Position } from '../../../../src/core/loop/next-step.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../../../../src/core/loop/state/run-state.ts';
import { checkContinueAsNewState } from '../../../../src/core/wire-schemas/carry/continue-as-new-state-schema.ts';

/** The state at which an execution of a run ended or begins. */
export interface ExecutionState {
  state: RunState;
  position: Position;
  inbox: Inbox;
}

/** Passes the state through the input of the next execution, and returns it as that execution reads it. */
export function carriedOver({ state, position, inbox, executions }: ExecutionState & { executions: number }): ExecutionState {
  const carry = toContinueAsNewState(state, position, { executions, inbox: inbox.carried() });
  const checked = checkContinueAsNewState(JSON.parse(JSON.stringify(carry)));
  if (!checked.ok) throw new Error(checked.problem);
  const { state: carried, position: at } = fromContinueAsNewState(checked.carry);
  if (at.type === 'idle') throw new Error('A run that is no session is never idle');
  return { state: carried, position: at, inbox: new Inbox(checked.carry.inbox) };
}
