// Children: the messages that do not reach a session.

import type { NextTurnInput } from '../domain/children/kept-agent.ts';
import { nextTurnProblem } from '../wire-schemas/requests/next-turn-schema.ts';
import type { MessageProblem } from './child-effects.ts';

/** The problem of a message to a session that has ended. */
export const ENDED_SESSION: MessageProblem = { code: 'run_ended', message: 'its session has ended: the next call starts another one' };

/** Returns why a message cannot be sent; undefined if it can. */
export function messageProblem(next: NextTurnInput): MessageProblem | undefined {
  const problem = nextTurnProblem(next);
  return problem === undefined ? undefined : { code: 'invalid_input', message: problem };
}
