import { isParallel } from '../capabilities/flows.ts';
import { firstAgent } from '../capabilities/handoffs.ts';
import { callText, type NextTurnInput } from '../domain/children.ts';
import type { QueuedMessage } from '../domain/content.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import { parentOf, type SessionKind } from '../domain/run-input.ts';
import { isSameIdentity } from '../domain/run.ts';
import {
  type CloseInput,
  type CloseReceipt,
  type InterruptInput,
  type InterruptReceipt,
  type RefreshReceipt,
  type ResetReceipt,
  sessionOf,
  turnOfCall,
} from '../domain/sessions.ts';
import { isoTime } from '../domain/time.ts';
import { closeProblem, interruptProblem, messageProblem, nextTurnProblem } from '../input-checks.ts';
import type { RunState } from '../kernel/run-state.ts';
import type { MessageReceipt, SendInput } from '../protocol.ts';
import {
  closeAfterTurn,
  giveUpNextTurn,
  interruptTurn,
  isSession,
  keepNextTurn,
  nextTurnOf,
  sessionLimitReached,
} from '../sessions/open-session.ts';
import { acceptedSessionLimits } from './accepted-limits.ts';
import { invalidRequest, type MessageReceiver, type Refusal, refuseIfEnded, type RequestKind, unavailable } from './decisions.ts';

/** Queues a message to the run. */
export const send: RequestKind<SendInput, MessageReceipt> = {
  description: 'A message to the run: {"id": "your own", "content": "text", "mode": "queue", "steer" or "interrupt"}',
  refusal: messageRefusal,
  asks: (_, { content, mode = 'queue' }) => ({ content: content as JsonValue, mode }),
  take(run, { id, content, mode }, { now }) {
    const message: QueuedMessage = { id, content, ...(mode === undefined || mode === 'queue' ? {} : { mode }), timestamp: isoTime(now) };
    const position = positionOf(run.state, message);
    const isNew = run.inbox.add(message, nextAnswer(run));
    const turn = run.inbox.accepted.turnOf(id);
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
  const { runId, inbox, state, programInput } = run;
  const problem = messageProblem(input);
  if (problem !== undefined) return { code: problem.code, message: `Run "${runId}" refused a message: ${problem.message}` };
  const message = input as SendInput;
  const foreign = otherPrincipalRefusal(run, message.principal);
  if (foreign !== undefined) return foreign;
  const isProgram = state?.program !== undefined || programInput !== undefined;
  const kind = isProgram ? 'program' : state !== undefined && isParallel(state) ? 'parallel flow' : undefined;
  if (kind !== undefined) {
    return {
      code: 'invalid_input',
      message: `Run "${runId}" is a ${kind}, which accepts no messages: decide its pending approvals, or start another run`,
    };
  }
  const misdirected = otherSessionRefusal(run, message.session);
  if (misdirected !== undefined) return misdirected;
  if (inbox.accepted.has(message.id)) return inbox.isBusy('messages') ? unavailable(run, 'messages') : undefined;
  if (isKept(run) && state?.status === 'idle') {
    const reason = `is kept by run "${parentOf(state)?.runId}" and takes messages while that waits for an answer: send to that run`;
    return { code: 'invalid_input', message: `Session "${runId}" ${reason}` };
  }
  if (!inbox.closed && !inbox.hasRoomFor(message)) {
    return {
      code: 'queue_full',
      message: `The queue of run "${runId}" is full (${inbox.queued} messages wait): send this one again later`,
    };
  }
  return unavailable(run, 'messages') ?? sessionLimitRefusal(run, now);
}

/** Refuses a message to another principal's run: the sender must not learn that the run exists. */
function otherPrincipalRefusal({ runId, state, principal }: MessageReceiver, sender: SendInput['principal']): Refusal | undefined {
  if (sender === undefined) return undefined;
  const own = state === undefined ? principal : state.principal;
  return isSameIdentity(sender, own ?? {}) ? undefined : { code: 'run_not_found', message: `No run "${runId}"` };
}

/** Refuses a message for a session if the run is not one, or began with another agent. After a handoff it is still the same session. */
function otherSessionRefusal(run: MessageReceiver, meant: SendInput['session']): Refusal | undefined {
  if (meant === undefined) return undefined;
  const { runId, state, opensAs } = run;
  if (state === undefined ? opensAs === undefined : !isSession(state)) {
    return { code: 'invalid_input', message: `Run "${runId}" is not a session: send the message to the run, not to a session` };
  }
  const agent = state === undefined ? run.agentName : firstAgent(state);
  if (meant.agent === undefined || agent === undefined || meant.agent === agent) return undefined;
  const message = `Session "${runId}" began with agent "${agent}", not with "${meant.agent}": send the message without an agent, or to another session`;
  return { code: 'run_exists', message };
}

/** Refuses a message to a session that has reached one of its limits. */
function sessionLimitRefusal({ runId, state, inbox }: MessageReceiver, now: number): Refusal | undefined {
  if (state === undefined || !isSession(state)) return undefined;
  const reached = sessionLimitReached(state, now, acceptedSessionLimits(state, inbox.raises));
  if (reached === undefined) return undefined;
  return {
    code: 'session_limit',
    message: `Session "${runId}" accepts no more messages: ${reached.message}. Raise the limit of the session, or start another one`,
  };
}

/** Returns the number of the turn that answers a message to a session: the current one, or the next. */
function nextAnswer({ state, opensAs }: MessageReceiver): number | undefined {
  if (state === undefined) return opensAs === undefined ? undefined : 1;
  const session = sessionOf(state);
  return session && (session.turn?.number ?? session.turns + 1);
}

/**
 * Returns the number of recorded events, and the step whose model call reads the message: the next step, unless the current step's model
 * call has not begun or is repeated for the message.
 */
function positionOf(state: RunState | undefined, { mode }: QueuedMessage): Required<Pick<MessageReceipt, 'offset' | 'beforeStep'>> {
  if (state === undefined) return { offset: 1, beforeStep: 1 };
  const { phase, context, window } = state;
  const readsNow = phase === 'between' || (phase === 'model' && mode === 'interrupt');
  return { offset: window.through, beforeStep: context.currentStep + (readsNow ? 1 : 2) };
}

/** Interrupts the current turn of a session. The session stays usable. */
export const interrupt: RequestKind<InterruptInput, InterruptReceipt> = {
  description: 'Interrupts the current turn of a session: {"reason"?: "text"}',
  refusal(run, input) {
    const problem = interruptProblem(input ?? {});
    return problem === undefined
      ? (noSessionRefusal(run, 'interrupt', 'kept session') ?? unavailableFor(run))
      : invalidRequest(run, 'interrupt', problem);
  },
  take(run, input) {
    const { inbox } = run;
    const { call, reason, by, ...asked } = (input as InterruptInput | null | undefined) ?? {};
    const turn = call === undefined ? asked.turn : (turnOfMessage(run, call) ?? 0);
    const current = presentTurn(run);
    const why = [reason, by === undefined ? undefined : `(${by})`].filter((part) => part !== undefined).join(' ');
    const request = why === '' ? {} : { cancelReason: why };
    if (turn !== undefined && turn !== current && turn === nextTurnOf(inbox)?.turn) {
      giveUpNextTurn(inbox, { turn, ...request });
      return { version: 1, interrupted: true, turn };
    }
    if (current === undefined || (turn !== undefined && turn !== current)) return { version: 1, interrupted: false };
    interruptTurn(inbox, { turn: current, ...request });
    return { version: 1, interrupted: true, turn: current };
  },
};

/** Closes a session after its current turn. */
export const close: RequestKind<CloseInput, CloseReceipt> = {
  description: 'Closes a session after the current turn: {"by"?: "name"}',
  refusal(run, input) {
    const problem = closeProblem(input ?? {});
    return problem === undefined
      ? (noSessionRefusal(run, 'close', 'session', 'kept session') ?? unavailableFor(run))
      : invalidRequest(run, 'close', problem);
  },
  take({ inbox, state }, input) {
    closeAfterTurn(inbox, { by: (input as CloseInput | null | undefined)?.by ?? null });
    const turn = sessionOf(state ?? {})?.turn?.number;
    return { version: 1, ...defined({ turn }) };
  },
};

/** Requests that a session's agent is resolved again before its next turn. */
export const refresh: RequestKind<unknown, RefreshReceipt> = {
  description: 'Resolves the agent of a session again before its next turn: {}',
  refusal: (run) => noSessionRefusal(run, 'refresh') ?? pinnedAgentRefusal(run) ?? unavailable(run, 'decisions'),
  take({ state }) {
    const session = sessionOf(state ?? {});
    if (session !== undefined) session.refreshDue = true;
    return { version: 1, beforeTurn: (session?.turns ?? 0) + 1 };
  },
};

/** Empties the conversation of a session after its current turn, if any. Deps, turns and limits stay. */
export const reset: RequestKind<unknown, ResetReceipt> = {
  description: 'Empties the conversation of a session, and keeps its deps: {}',
  refusal: (run) => noSessionRefusal(run, 'reset') ?? unavailable(run, 'decisions'),
  take({ state }) {
    const session = sessionOf(state ?? {});
    if (session !== undefined) session.resetDue = true;
    return { version: 1, beforeTurn: (session?.turns ?? 0) + 1 };
  },
};

/** Takes the next message from the parent that keeps a session. A repeated message is ignored. */
export const nextTurn: RequestKind<NextTurnInput, void> = {
  description: 'Between runs: the run that keeps this session sends its next message: {"turn", "of", "content"?, "runs", "left"?}',
  refusal(run, input) {
    const problem = nextTurnProblem(input) ?? (isKept(run) ? undefined : 'the run is not a session that another run keeps');
    return problem === undefined ? refuseIfEnded(run) : invalidRequest(run, 'nextTurn', problem);
  },
  take({ state, inbox }, input) {
    // A session that was paused along with its parent continues.
    inbox.pauseWithOther(false);
    const session = sessionOf(state ?? {});
    const begun = session?.turns ?? 0;
    const { of } = input;
    if (of === undefined) {
      if (input.turn > begun) keepNextTurn(inbox, input);
      return;
    }
    // A turn that runs answers the call already.
    if (session?.turn !== undefined && turnOfCall(session, callText(of)) === session.turn.number) return;
    keepNextTurn(inbox, { ...input, turn: Math.max(input.turn, begun + 1) });
  },
};

/** Returns the number of the turn that answers a call of the run that keeps the session, also before it begins. */
function turnOfMessage({ inbox, state }: MessageReceiver, call: string): number | undefined {
  const next = nextTurnOf(inbox);
  return next?.of !== undefined && callText(next.of) === call ? next.turn : turnOfCall(sessionOf(state ?? {}), call);
}

/** Returns the current turn. A turn requested by a parent counts before it begins: the parent may give it up at once. */
function presentTurn({ inbox, state }: MessageReceiver): number | undefined {
  if (state === undefined) return 1;
  const session = sessionOf(state);
  return session?.turn?.number ?? (parentOf(state)?.kept ? (nextTurnOf(inbox)?.turn ?? (session?.opens ? 1 : undefined)) : undefined);
}

/** Returns why a session accepts no requests. A parent sends its requests as Signals, none of which may be lost. */
function unavailableFor(run: MessageReceiver): Refusal | undefined {
  return isKept(run) ? refuseIfEnded(run) : unavailable(run, 'decisions');
}

function pinnedAgentRefusal({ runId, state }: MessageReceiver): Refusal | undefined {
  if (sessionOf(state ?? {})?.refresh !== 'never') return undefined;
  return { code: 'invalid_input', message: `Session "${runId}" keeps its agent ("refresh" is "never"): start another session` };
}

/**
 * Refuses a request that only sessions accept, unless the run is a session. `opening`: the kinds of sessions that accept it before they
 * have a state.
 */
function noSessionRefusal({ runId, state, opensAs }: MessageReceiver, request: string, ...opening: SessionKind[]): Refusal | undefined {
  if (state === undefined && opensAs !== undefined && opening.includes(opensAs)) return undefined;
  // This state is brief: the first activity of the run resolves the agent.
  if (state === undefined) return { code: 'busy', message: `Run "${runId}" has not resolved its agent yet: send it again in a moment` };
  if (isSession(state)) return undefined;
  return { code: 'invalid_input', message: `Run "${runId}" is not a session, and "${request}" is for sessions: cancel the run instead` };
}

/** True for a session that another run keeps. */
function isKept({ state, opensAs }: Pick<MessageReceiver, 'state' | 'opensAs'>): boolean {
  return state === undefined ? opensAs === 'kept session' : isSession(state) && parentOf(state)?.kept === true;
}
