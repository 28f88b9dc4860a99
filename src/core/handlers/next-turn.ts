import type { NextTurnInput } from '../domain/children.ts';
import { nextTurnProblem } from '../wire-schemas/request-schemas.ts';
import { ended, invalidRequest, type MessageReceiver, type RequestKind } from './message-receiver.ts';

/** Takes the next message of the run that keeps a session. A message that is sent again is ignored. */
export const nextTurn: RequestKind<NextTurnInput, void> = {
  description: 'Between runs: the run that keeps this session sends its next message: {"turn", "content", "runs", "left"?}',
  refusal(run, input) {
    const problem = nextTurnProblem(input) ?? (isKept(run) ? undefined : 'the run is no session that another run keeps');
    return problem === undefined ? ended(run) : invalidRequest(run, 'nextTurn', problem);
  },
  take({ state, inbox }, input) {
    // A session that was paused with that run goes on with it.
    inbox.pausedAbove = false;
    if (input.turn > (state?.session?.turns ?? 0)) inbox.nextTurn = input;
  },
};

/** True for a session that another run keeps. */
export function isKept({ state, opensAs }: Pick<MessageReceiver, 'state' | 'opensAs'>): boolean {
  return state === undefined ? opensAs === 'kept session' : state.session !== undefined && state.parent?.kept === true;
}
