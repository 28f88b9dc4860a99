import type { MessageProblem } from '../children/child-effects.ts';
import type { ChildCall } from '../domain/children/child-call.ts';
import type { NextTurnInput } from '../domain/children/kept-agent.ts';
import type { MessageContent } from '../domain/sessions/message-content.ts';
import { ACTIVITIES, type ReadCallInput } from '../protocol.ts';
import { nextTurnProblem } from '../wire-schemas/requests/next-turn-schema.ts';
import { activityProblem } from './activity-outcome.ts';
import { type ActivityRequest, fits } from './activity-request.ts';

const OPTIONS = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { maximumAttempts: 20, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

/** The problem of a message to a session that has ended. */
export const ENDED_SESSION: MessageProblem = { code: 'run_ended', message: 'its session has ended: the next call starts another one' };

/** Returns why a message cannot be sent; undefined if it can. */
export function messageProblem(next: NextTurnInput): MessageProblem | undefined {
  const problem = nextTurnProblem(next);
  return problem === undefined ? undefined : { code: 'invalid_input', message: problem };
}

/** Returns the message of a call with a reference to the call instead of a content that is too large to be stored again. */
export function messageOfCall({ content = '', ...next }: NextTurnInput, of: ChildCall['of']): NextTurnInput {
  return of === undefined || fits({ content }) ? { ...next, content } : { ...next, of };
}

/** Reads a message that is too large to be stored again, from the call of the run that keeps the session. */
export function callInputRequest(input: ReadCallInput): ActivityRequest<ReadCallInput, string, MessageContent> {
  return {
    name: ACTIVITIES.readCallInput,
    tier: 'remote',
    options: { ...OPTIONS, summary: 'reads the message of the call' },
    input,
    returned: (content) => ({ type: 'read', content: content }),
    failed: unreadMessage,
  };
}

/** Returns the outcome of reading a message that failed. */
export function unreadMessage(error: unknown): MessageContent {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const code = (problem.type === 'failed' ? problem.code : undefined) ?? 'internal';
  return { type: 'failed', code, message: `The message of the call could not be read: ${problem.message}` };
}
