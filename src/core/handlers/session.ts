import type {
  CloseInput,
  CloseReceipt,
  InterruptInput,
  InterruptReceipt,
  RefreshReceipt,
  ResetReceipt,
} from '../domain/sessions/session-requests.ts';
import type { SessionKind } from '../domain/sessions/session-input.ts';
import { isSession } from '../sessions/open-session.ts';
import { closeProblem, interruptProblem } from '../wire-schemas/requests/session-schema.ts';
import { ended, invalidRequest, type MessageReceiver, type Refusal, type RequestKind, unavailable } from './message-receiver.ts';
import { isKept } from './next-turn.ts';

/** Interrupts the current turn of a session. The session stays usable. */
export const interrupt: RequestKind<InterruptInput, InterruptReceipt> = {
  description: 'Interrupts the turn of a session that goes on: {"reason"?: "text"}',
  refusal(run, input) {
    const problem = interruptProblem(input ?? {});
    return problem === undefined
      ? (noSession(run, 'interrupt', 'kept session') ?? unavailableFor(run))
      : invalidRequest(run, 'interrupt', problem);
  },
  take(run, input) {
    const { inbox } = run;
    const { turn, reason, by } = (input as InterruptInput | null | undefined) ?? {};
    const current = presentTurn(run);
    if (turn !== undefined && turn !== current && turn === inbox.nextTurn?.turn) {
      // The run that keeps the session has given up the turn before it could begin.
      inbox.takeNextTurn();
      return { version: 1, interrupted: true, turn };
    }
    if (current === undefined || (turn !== undefined && turn !== current)) return { version: 1, interrupted: false };
    const why = [reason, by === undefined ? undefined : `(${by})`].filter((part) => part !== undefined).join(' ');
    inbox.turnInterrupt = { turn: current, ...(why === '' ? {} : { cancelReason: why }) };
    return { version: 1, interrupted: true, turn: current };
  },
};

/** Closes a session, after the current turn. */
export const close: RequestKind<CloseInput, CloseReceipt> = {
  description: 'Closes a session after the turn that goes on: {"by"?: "name"}',
  refusal(run, input) {
    const problem = closeProblem(input ?? {});
    return problem === undefined
      ? (noSession(run, 'close', 'session', 'kept session') ?? unavailableFor(run))
      : invalidRequest(run, 'close', problem);
  },
  take({ inbox, state }, input) {
    inbox.closing = { by: (input as CloseInput | null | undefined)?.by ?? null };
    const turn = state?.session?.turn?.number;
    return { version: 1, ...(turn === undefined ? {} : { turn }) };
  },
};

/** Has the agent of a session resolved again before its next turn. */
export const refresh: RequestKind<unknown, RefreshReceipt> = {
  description: 'Resolves the agent of a session again before its next turn: {}',
  refusal: (run) => noSession(run, 'refresh') ?? pinned(run) ?? unavailable(run, 'decisions'),
  take({ state }) {
    const session = state?.session;
    if (session !== undefined) session.refreshDue = true;
    return { version: 1, beforeTurn: (session?.turns ?? 0) + 1 };
  },
};

/** Empties the conversation of a session: deps, turns and limits stay. During a turn, it is emptied after it. */
export const reset: RequestKind<unknown, ResetReceipt> = {
  description: 'Empties the conversation of a session, and keeps its deps: {}',
  refusal: (run) => noSession(run, 'reset') ?? unavailable(run, 'decisions'),
  take({ state }) {
    const session = state?.session;
    if (session !== undefined) session.resetDue = true;
    return { version: 1, beforeTurn: (session?.turns ?? 0) + 1 };
  },
};

/** Returns the current turn. One that a run has asked for counts before it begins: that run may give it up at once. */
function presentTurn({ inbox, state }: MessageReceiver): number | undefined {
  if (state === undefined) return 1;
  const { session, parent } = state;
  return session?.turn?.number ?? (parent?.kept ? (inbox.nextTurn?.turn ?? (session?.opens ? 1 : undefined)) : undefined);
}

/** Returns why a session takes no requests. The run that keeps one sends them as Signals, of which none may be lost. */
function unavailableFor(run: MessageReceiver): Refusal | undefined {
  return isKept(run) ? ended(run) : unavailable(run, 'decisions');
}

function pinned({ runId, state }: MessageReceiver): Refusal | undefined {
  if (state?.session?.refresh !== 'never') return undefined;
  return { code: 'invalid_input', message: `Session "${runId}" keeps its agent ("refresh" is "never"): start another session` };
}

/** Returns the refusal of a request that only a session takes; undefined for a session. `opening`: the kinds that take it before they have a state. */
function noSession({ runId, state, opensAs }: MessageReceiver, request: string, ...opening: SessionKind[]): Refusal | undefined {
  if (state === undefined && opensAs !== undefined && opening.includes(opensAs)) return undefined;
  // This state is short: the first activity of the run resolves the agent.
  if (state === undefined) return { code: 'busy', message: `Run "${runId}" has not resolved its agent yet: send it again in a moment` };
  if (isSession(state)) return undefined;
  return { code: 'invalid_input', message: `Run "${runId}" is no session, and "${request}" is for sessions: cancel the run instead` };
}
