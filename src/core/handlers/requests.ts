import { BYTE_BUDGETS, cutText } from '../domain/byte-budgets.ts';
import type { NextTurnInput } from '../domain/children.ts';
import type { QueuedMessage } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import { inboundProblem, isJsonObject } from '../domain/json.ts';
import { isNarrowing, matchesGlob, permissionsProblem, rulesForNoTool } from '../domain/permissions.ts';
import type { SessionKind } from '../domain/run-input.ts';
import { isSameIdentity } from '../domain/run.ts';
import type { CloseInput, CloseReceipt, InterruptInput, InterruptReceipt, RefreshReceipt, ResetReceipt } from '../domain/sessions.ts';
import { isoTime } from '../domain/time.ts';
import { agentsOfCalls, childrenOf } from '../capabilities/children/children.ts';
import { isParallel } from '../capabilities/flows.ts';
import { ownPermissions } from '../capabilities/permissions.ts';
import { revoke as revokeDecision, type RunState } from '../kernel/run-state.ts';
import type {
  CancelInput,
  CancelReasonInput,
  ChildEndedInput,
  ChildWaitingInput,
  MessageReceipt,
  PausedByParentInput,
  PauseReceipt,
  NotifyOnEndInput,
  RevokeInput,
  RevokeReceipt,
  SendInput,
  SetPermissionsInput,
  SetPermissionsReceipt,
  SIGNALS,
  StartedAgainInput,
  UPDATES,
} from '../protocol.ts';
import { isSession, sessionLimitReached } from '../sessions/open-session.ts';
import {
  cancelProblem,
  closeProblem,
  interruptProblem,
  messageProblem,
  nextTurnProblem,
  revokeProblem,
  setPermissionsProblem,
} from '../input-checks.ts';
import {
  approve,
  refuseIfEnded,
  type InboundMessage,
  invalidRequest,
  type MessageReceiver,
  noRoomForRequest,
  raise,
  type Refusal,
  reject,
  type RequestKind,
  respond,
  unavailable,
} from './decisions.ts';

/** Revokes a remembered decision. Calls that it has already let run continue. */
const revoke: RequestKind<RevokeInput, RevokeReceipt> = {
  description: 'Revokes a remembered decision, so that it applies to no further calls: {"decision": "its id"}',
  refusal(run, input) {
    const problem = revokeProblem(input);
    return problem === undefined ? unavailable(run, 'decisions') : invalidRequest(run, 'revoke', problem);
  },
  take: ({ state }, { decision }) => ({ version: 1, revoked: state !== undefined && revokeDecision(state.approvals, decision) }),
};

function pausing(paused: boolean, description: string): RequestKind<unknown, PauseReceipt> {
  return {
    description,
    refusal: (run) => unavailable(run, 'messages'),
    take({ inbox }) {
      inbox.pause(paused);
      return { version: 1, paused };
    },
  };
}

/** Cancels the run: stores the reason, and an activity then asks the server to cancel the workflow. */
const cancel: RequestKind<CancelInput | undefined, void> = {
  description: 'Cancels the run: {"reason"?: "text", "by"?: "name"}',
  refusal(run, input) {
    const problem = cancelProblem(input ?? {});
    return problem === undefined ? undefined : invalidRequest(run, 'cancel', problem);
  },
  take({ inbox }, input) {
    const { reason = 'cancelled by a signal', by } = input ?? {};
    inbox.cancelReason = by === undefined ? reason : `${reason} (${by})`;
    inbox.cancelAsked = true;
  },
};

const cancelReason: RequestKind<CancelReasonInput | undefined, void> = {
  description: 'The reason for the cancellation that follows, because a request to cancel is not encrypted: {"reason": "text"}',
  refusal: () => undefined,
  take({ inbox }, input) {
    if (typeof input?.reason === 'string' && input.reason !== '') inbox.cancelReason = cutText(input.reason, BYTE_BUDGETS.errorMessage);
  },
};

type AnyKind = RequestKind<never, unknown>;

const pause = pausing(true, 'Pauses the run after the current step, until it is resumed');
const resume = pausing(false, 'Resumes the run');

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

/** Sets the permissions of the run. What makes them wider needs the `authorize` hook of the worker. */
export const setPermissions: RequestKind<SetPermissionsInput, SetPermissionsReceipt> = {
  description: 'Sets the permissions: {"id": "your own", "permissions": {"mode": "default", "deny": [{"tool": "web_*"}], ...}, "by"?}',
  refusal: permissionsRefusal,
  take({ inbox, state }, { id, permissions, by }, { now }) {
    if (inbox.has(id)) return { version: 1, id, status: 'duplicate' };
    const isNarrower =
      state !== undefined && [newestOwn({ inbox }, state), ownPermissions(state)].every((own) => isNarrowing(own, permissions));
    inbox.changePermissions({ id, permissions, by: by ?? null, at: isoTime(now) });
    return { version: 1, id, status: isNarrower ? 'set' : 'to_authorize' };
  },
};

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
  description: 'Closes a session after the current turn: {"by"?: "name"}',
  refusal(run, input) {
    const problem = closeProblem(input ?? {});
    return problem === undefined
      ? (noSessionRefusal(run, 'close', 'session', 'kept session') ?? unavailableFor(run))
      : invalidRequest(run, 'close', problem);
  },
  take({ inbox, state }, input) {
    inbox.closing = { by: (input as CloseInput | null | undefined)?.by ?? null };
    const turn = state?.session?.turn?.number;
    return { version: 1, ...defined({ turn }) };
  },
};

/** Has the agent of a session resolved again before its next turn. */
export const refresh: RequestKind<unknown, RefreshReceipt> = {
  description: 'Resolves the agent of a session again before its next turn: {}',
  refusal: (run) => noSessionRefusal(run, 'refresh') ?? pinnedAgentRefusal(run) ?? unavailable(run, 'decisions'),
  take({ state }) {
    const session = state?.session;
    if (session !== undefined) session.refreshDue = true;
    return { version: 1, beforeTurn: (session?.turns ?? 0) + 1 };
  },
};

/** Empties the conversation of a session: deps, turns and limits stay. During a turn, it is emptied after it. */
export const reset: RequestKind<unknown, ResetReceipt> = {
  description: 'Empties the conversation of a session, and keeps its deps: {}',
  refusal: (run) => noSessionRefusal(run, 'reset') ?? unavailable(run, 'decisions'),
  take({ state }) {
    const session = state?.session;
    if (session !== undefined) session.resetDue = true;
    return { version: 1, beforeTurn: (session?.turns ?? 0) + 1 };
  },
};

/** The Updates that a run accepts, by name, in the order in which the handlers are registered. */
export const UPDATE_KINDS: Readonly<Record<keyof typeof UPDATES, AnyKind>> = {
  send,
  pause,
  resume,
  approve,
  reject,
  respond,
  revoke,
  raise,
  setPermissions,
  interrupt,
  close,
  refresh,
  reset,
};

/** Names the run that is told of the end of this one. Sent by the run that has started it. */
export const notifyOnEnd: RequestKind<NotifyOnEndInput, void> = {
  description: 'Between runs: the run tells another one of its end: {"to": "run id"}',
  refusal: (run, input) => idProblem(run, 'notifyOnEnd', input, 'to'),
  take({ inbox }, { to }) {
    inbox.notifyOnEnd = to;
  },
};

/** Tells of the end of a child. Ids that are not those of children are ignored. */
export const childEnded: RequestKind<ChildEndedInput, void> = {
  description: 'Between runs: a child of the run, or one of its turns, has ended: {"runId", "turn"?}',
  refusal: (run, input) => idProblem(run, 'childEnded', input, 'runId'),
  take(run, { runId, turn }) {
    if (isChild(run, runId) && isWaitedFor(run, runId, turn)) run.inbox.childEnded(runId);
  },
};

/** Tells that a child waits for a person, or that it does not wait any more. */
export const childWaiting: RequestKind<ChildWaitingInput, void> = {
  description: 'Between runs: a child of the run waits for a person, or no longer: {"runId", "waiting"}',
  refusal: (run, input) => idProblem(run, 'childWaiting', input, 'runId'),
  take(run, { runId, waiting }) {
    if (isChild(run, runId)) run.inbox.childWaiting(runId, waiting);
  },
};

/** Pauses the run with the one that started it, or lets it continue with that. A caller's own pause of this run stays. */
export const parentPaused: RequestKind<PausedByParentInput, void> = {
  description: 'Between runs: the parent was paused or resumed: {"paused"}',
  refusal: (run, input) =>
    isJsonObject(input) && typeof input['paused'] === 'boolean'
      ? undefined
      : invalidRequest(run, 'pausedByParent', '"paused" must be true or false'),
  take({ inbox }, { paused }) {
    inbox.pausedByParent = paused;
  },
};

/** Cancels a run whose parent was terminated and has been started again under the same id: the new one starts its own children. */
export const startedAgain: RequestKind<StartedAgainInput, void> = {
  description: 'Between runs: the run that started this one has ended, and was started again: {"runId", "firstRunId"}',
  refusal: (run, input) => idProblem(run, 'startedAgain', input, 'runId') ?? idProblem(run, 'startedAgain', input, 'firstRunId'),
  take({ state, inbox }, { runId, firstRunId }) {
    const { parent } = state ?? {};
    if (parent?.runId !== runId || parent.firstRunId === undefined || parent.firstRunId === firstRunId) return;
    inbox.cancelReason ??= `The run "${runId}", which started this one, was started again`;
    inbox.cancelAsked = true;
  },
};

/** Takes the next message of the run that keeps a session. A message that is sent again is ignored. */
export const nextTurn: RequestKind<NextTurnInput, void> = {
  description: 'Between runs: the run that keeps this session sends its next message: {"turn", "content", "runs", "left"?}',
  refusal(run, input) {
    const problem = nextTurnProblem(input) ?? (isKept(run) ? undefined : 'the run is not a session that another run keeps');
    return problem === undefined ? refuseIfEnded(run) : invalidRequest(run, 'nextTurn', problem);
  },
  take({ state, inbox }, input) {
    // A session that was paused with that run continues with it.
    inbox.pausedByParent = false;
    if (input.turn > (state?.session?.turns ?? 0)) inbox.nextTurn = input;
  },
};

/** The Signals that a run accepts, by the same rules, for callers that can only signal. */
export const SIGNAL_KINDS: Readonly<Record<keyof typeof SIGNALS, AnyKind>> = {
  send,
  pause,
  resume,
  raise,
  cancelReason,
  approve,
  reject,
  respond,
  cancel,
  notifyOnEnd,
  childEnded,
  childWaiting,
  pausedByParent: parentPaused,
  startedAgain,
  nextTurn,
  interrupt,
  close,
};

/** Returns why an Update is refused; undefined if it is accepted. */
export function refuseUpdate(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown, now: number): Refusal | undefined {
  return requestRefusal(UPDATE_KINDS[name], run, { name, input, now });
}

/** Accepts an Update that was not refused. */
export function takeUpdate(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown, now: number): unknown {
  run.inbox.countUpdate();
  return acceptRequest(UPDATE_KINDS[name], run, input, { source: 'update', now });
}

/** Accepts or refuses a Signal. A refusal becomes an event of the run, because a Signal has no answer. */
export function takeSignal(run: MessageReceiver, name: keyof typeof SIGNALS, input: unknown, now: number): Refusal | undefined {
  run.inbox.received += 1;
  const kind = SIGNAL_KINDS[name];
  const refused = requestRefusal(kind, run, { name, input, now });
  if (refused === undefined) acceptRequest(kind, run, input, { source: 'signal', now });
  else run.inbox.refuse({ request: name, ...identityOf(input), ...refused });
  return refused;
}

function requestRefusal(
  kind: AnyKind,
  run: MessageReceiver,
  { name, input, now }: { name: string; input: unknown; now: number },
): Refusal | undefined {
  const problem = inboundProblem(input);
  return problem === undefined ? kind.refusal(run, input, now) : invalidRequest(run, name, problem);
}

function acceptRequest(kind: AnyKind, run: MessageReceiver, input: unknown, arrival: InboundMessage): unknown {
  return kind.take(run, input as never, arrival);
}

/** Returns the ids and the caller that a refused request names, each cut to a safe length. */
function identityOf(input: unknown): { id?: string; callId?: string; by?: string } {
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? cutText(value, 200) : undefined);
  const { id, callId, by } = isJsonObject(input) ? input : {};
  const fields = { id: text(id), callId: text(callId), by: text(by) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function permissionsRefusal(run: MessageReceiver, input: unknown): Refusal | undefined {
  const { state, runId, inbox } = run;
  const problem = setPermissionsProblem(input);
  if (problem !== undefined) return invalidRequest(run, 'setPermissions', problem);
  const { id, permissions } = input as SetPermissionsInput;
  const wrong = permissionsProblem(permissions);
  if (wrong !== undefined) return invalidRequest(run, 'setPermissions', `permissions.${wrong}`);
  const busy = unavailable(run, 'decisions');
  if (busy !== undefined) return busy;
  // This state is short: the first activity of the run resolves the agent.
  if (state === undefined) return { code: 'busy', message: `Run "${runId}" has not resolved its agent yet: send it again in a moment` };
  if (inbox.has(id)) return undefined;
  if (state.program !== undefined) return invalidRequest(run, 'setPermissions', 'it is the run of a program, which has no permissions');
  const { tools, authorize } = state.snapshot;
  const [unknown] = rulesForNoTool(permissions, (glob) => tools.some(({ name }) => matchesGlob(glob, name, true)));
  if (unknown !== undefined) return invalidRequest(run, 'setPermissions', `permissions.${unknown} matches no tool of the run`);
  if (!authorize && !isNarrowing(newestOwn(run, state), permissions)) {
    const message = `The permissions of run "${runId}" would be wider: its worker has no "authorize" hook, without which they can only be narrowed`;
    return { code: 'not_authorized', message };
  }
  return noRoomForRequest(input, run);
}

/** Returns the policy as it will be after the changes that are not applied yet. */
function newestOwn({ inbox }: Pick<MessageReceiver, 'inbox'>, state: RunState): SetPermissionsInput['permissions'] {
  return inbox.permissionChanges.at(-1)?.permissions ?? ownPermissions(state);
}

/** The most characters of the id of a run. */
const MAX_ID = 1_000;

function isChild({ state }: MessageReceiver, runId: string): boolean {
  return childrenOf(state).includes(runId);
}

/** True unless an earlier turn of a session has ended, whose answer was given up. */
function isWaitedFor({ state }: MessageReceiver, runId: string, turn: number | undefined): boolean {
  return turn === undefined || agentsOfCalls(state ?? {}).some((child) => child.runId === runId && child.turn === turn);
}

function idProblem(run: MessageReceiver, request: string, input: unknown, field: string): ReturnType<RequestKind<never, void>['refusal']> {
  const id = isJsonObject(input) ? input[field] : undefined;
  if (typeof id === 'string' && id !== '' && id.length <= MAX_ID) return undefined;
  return invalidRequest(run, request, `"${field}" must be the id of a run`);
}

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
    const reason = `is kept by run "${state.parent?.runId}" and takes messages while that waits for an answer: send to that run`;
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
  const { session } = state;
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

/** Returns the current turn. One that a run has asked for counts before it begins: that run may give it up at once. */
function presentTurn({ inbox, state }: MessageReceiver): number | undefined {
  if (state === undefined) return 1;
  const { session, parent } = state;
  return session?.turn?.number ?? (parent?.kept ? (inbox.nextTurn?.turn ?? (session?.opens ? 1 : undefined)) : undefined);
}

/** Returns why a session takes no requests. The run that keeps one sends them as Signals, of which none may be lost. */
function unavailableFor(run: MessageReceiver): Refusal | undefined {
  return isKept(run) ? refuseIfEnded(run) : unavailable(run, 'decisions');
}

function pinnedAgentRefusal({ runId, state }: MessageReceiver): Refusal | undefined {
  if (state?.session?.refresh !== 'never') return undefined;
  return { code: 'invalid_input', message: `Session "${runId}" keeps its agent ("refresh" is "never"): start another session` };
}

/** Returns the refusal of a request that only a session takes; undefined for a session. `opening`: the kinds that take it before they have a state. */
function noSessionRefusal({ runId, state, opensAs }: MessageReceiver, request: string, ...opening: SessionKind[]): Refusal | undefined {
  if (state === undefined && opensAs !== undefined && opening.includes(opensAs)) return undefined;
  // This state is short: the first activity of the run resolves the agent.
  if (state === undefined) return { code: 'busy', message: `Run "${runId}" has not resolved its agent yet: send it again in a moment` };
  if (isSession(state)) return undefined;
  return { code: 'invalid_input', message: `Run "${runId}" is not a session, and "${request}" is for sessions: cancel the run instead` };
}

/** True for a session that another run keeps. */
export function isKept({ state, opensAs }: Pick<MessageReceiver, 'state' | 'opensAs'>): boolean {
  return state === undefined ? opensAs === 'kept session' : state.session !== undefined && state.parent?.kept === true;
}
