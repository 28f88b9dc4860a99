import type { QueuedMessage } from '../domain/content.ts';
import { defined } from '../domain/json.ts';
import { parentOf } from '../domain/run-input.ts';
import { isSameIdentity } from '../domain/run.ts';
import { sessionOf } from '../domain/sessions.ts';
import { isoTime } from '../domain/time.ts';
import { isParallel } from '../capabilities/flows.ts';
import type { RunState } from '../kernel/run-state.ts';
import type { MessageReceipt, SendInput } from '../protocol.ts';
import { isSession, sessionLimitReached } from '../sessions/open-session.ts';
import { messageProblem } from '../input-checks.ts';
import { type MessageReceiver, type Refusal, type RequestKind, unavailable } from './decisions.ts';
import { isKept } from './sessions.ts';

/** Queues a message to the run. */
export const send: RequestKind<SendInput, MessageReceipt> = {
  description: 'A message to the run: {"id": "your own", "content": "text", "mode": "queue", "steer" or "interrupt"}',
  refusal: messageRefusal,
  take(run, { id, content, mode }, { now }) {
    const message: QueuedMessage = { id, content, ...(mode === undefined || mode === 'queue' ? {} : { mode }), timestamp: isoTime(now) };
    const position = positionOf(run.state, message);
    const isNew = run.inbox.add(message, nextAnswer(run));
    const turn = run.inbox.turnOf(id);
    return {
      version: 1,
      id,
      status: isNew ? 'queued' : 'duplicate',
      queued: run.inbox.queued,
      ...(isNew ? position : {}),
      ...defined({ turn }),
    };
  },
};

function messageRefusal(run: MessageReceiver, input: unknown, now: number): Refusal | undefined {
  const { runId, inbox, state } = run;
  const kind = state?.program !== undefined ? 'program' : state !== undefined && isParallel(state) ? 'parallel flow' : undefined;
  if (kind !== undefined) {
    return {
      code: 'invalid_input',
      message: `Run "${runId}" is a ${kind}, which takes no messages: decide what waits, or start another run`,
    };
  }
  const problem = messageProblem(input);
  if (problem !== undefined) return { code: problem.code, message: `Run "${runId}" refused a message: ${problem.message}` };
  const message = input as SendInput;
  const foreign = otherPrincipalRefusal(run, message.principal);
  if (foreign !== undefined) return foreign;
  if (isKept(run) && state?.status === 'idle') {
    const reason = `is kept by run "${parentOf(state)?.runId}" and takes messages while that waits for an answer: send to that run`;
    return { code: 'invalid_input', message: `Session "${runId}" ${reason}` };
  }
  if (inbox.has(message.id)) return inbox.isBusy('messages') ? unavailable(run, 'messages') : undefined;
  if (!inbox.closed && !inbox.hasRoomFor(message)) {
    return {
      code: 'queue_full',
      message: `The queue of run "${runId}" is full (${inbox.queued} messages wait): send this one again later`,
    };
  }
  return unavailable(run, 'messages') ?? sessionLimitRefusal(run, now);
}

/** Returns the refusal of a message to the run of another principal: the sender must not learn that the run exists. */
function otherPrincipalRefusal({ runId, state, principal }: MessageReceiver, sender: SendInput['principal']): Refusal | undefined {
  if (sender === undefined) return undefined;
  const own = state === undefined ? principal : state.principal;
  return isSameIdentity(sender, own ?? {}) ? undefined : { code: 'run_not_found', message: `No run "${runId}"` };
}

/** Returns the refusal of a message to a session that has reached one of its limits. */
function sessionLimitRefusal({ runId, state }: MessageReceiver, now: number): Refusal | undefined {
  const reached = state === undefined || !isSession(state) ? undefined : sessionLimitReached(state, now);
  if (reached === undefined) return undefined;
  return {
    code: 'session_limit',
    message: `Session "${runId}" takes no more messages: ${reached.message}. Raise the limit of the session, or start another one`,
  };
}

/** Returns the number of the turn that answers a message to a session: the current one, or the next. */
function nextAnswer({ state, opensAs }: MessageReceiver): number | undefined {
  if (state === undefined) return opensAs === undefined ? undefined : 1;
  const session = sessionOf(state);
  return session && (session.turn?.number ?? session.turns + 1);
}

/**
 * Returns the number of recorded events, and the step whose model call reads the message: the next step, unless the model call of
 * the current one has not begun or is repeated for the message.
 */
function positionOf(state: RunState | undefined, { mode }: QueuedMessage): Required<Pick<MessageReceipt, 'offset' | 'beforeStep'>> {
  if (state === undefined) return { offset: 1, beforeStep: 1 };
  const { phase, context, window } = state;
  const readsNow = phase === 'between' || (phase === 'model' && mode === 'interrupt');
  return { offset: window.through, beforeStep: context.currentStep + (readsNow ? 1 : 2) };
}
