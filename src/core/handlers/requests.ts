import { revoke as revokeDecision } from '../domain/approvals.ts';
import {
  agentsOfCalls,
  childrenOf,
  noteChildEnd,
  noteChildWaiting,
  notifyOnEnd as notifyRunOnEnd,
} from '../capabilities/children/children.ts';
import { BYTE_BUDGETS, cutText } from '../domain/byte-budgets.ts';
import { callText } from '../domain/children.ts';
import { inboundProblem, isJsonObject } from '../domain/json.ts';
import { requestDigest, reusedId } from '../domain/requests.ts';
import { parentOf } from '../domain/run-input.ts';
import { cancelProblem, revokeProblem } from '../input-checks.ts';
import type {
  CancelInput,
  CancelReasonInput,
  ChildEndedInput,
  ChildWaitingInput,
  NotifyOnEndInput,
  PausedByParentInput,
  PauseReceipt,
  RevokeInput,
  RevokeReceipt,
  SIGNALS,
  StartedAgainInput,
  UPDATES,
} from '../protocol.ts';
import {
  approve,
  type InboundMessage,
  invalidRequest,
  type MessageReceiver,
  raise,
  type Refusal,
  reject,
  type RequestKind,
  respond,
  unavailable,
} from './decisions.ts';
import { close, interrupt, nextTurn, refresh, reset, send } from './messages.ts';
import { setPermissions } from './set-permissions.ts';

/** Sets the run that is notified of this run's end. Sent by the parent. */
export const notifyOnEnd: RequestKind<NotifyOnEndInput, void> = {
  description: 'Between runs: sets the run to notify at the end of this run: {"to": "run id"}',
  refusal: (run, input) => idProblem(run, 'notifyOnEnd', input, 'to'),
  take({ inbox }, { to }) {
    notifyRunOnEnd(inbox, to);
  },
};

/** Reports the end of a child. Ids of unknown children are ignored. */
export const childEnded: RequestKind<ChildEndedInput, void> = {
  description: 'Between runs: a child of the run, or one of its turns, has ended: {"runId", "turn"?, "call"?}',
  refusal: (run, input) => idProblem(run, 'childEnded', input, 'runId'),
  take(run, ended) {
    const { runId } = ended;
    if (isChild(run, runId) && isWaitedFor(run, ended)) noteChildEnd(run.inbox, runId);
  },
};

/** Reports that a child waits for a person, or no longer waits. */
export const childWaiting: RequestKind<ChildWaitingInput, void> = {
  description: 'Between runs: a child of the run waits for a person, or no longer: {"runId", "waiting"}',
  refusal: (run, input) => idProblem(run, 'childWaiting', input, 'runId'),
  take(run, { runId, waiting }) {
    if (isChild(run, runId)) noteChildWaiting(run.inbox, runId, waiting);
  },
};

/** Pauses or resumes the run along with its parent. A caller's own pause of this run stays in effect. */
export const parentPaused: RequestKind<PausedByParentInput, void> = {
  description: 'Between runs: the parent was paused or resumed: {"paused"}',
  refusal: (run, input) =>
    isJsonObject(input) && typeof input['paused'] === 'boolean'
      ? undefined
      : invalidRequest(run, 'pausedByParent', '"paused" must be true or false'),
  take({ inbox }, { paused }) {
    inbox.pauseWithOther(paused);
  },
};

/** Cancels a run whose parent was terminated and started again under the same id: the new parent starts its own children. */
export const startedAgain: RequestKind<StartedAgainInput, void> = {
  description: 'Between runs: the run that started this one has ended, and was started again: {"runId", "firstRunId"}',
  refusal: (run, input) => idProblem(run, 'startedAgain', input, 'runId') ?? idProblem(run, 'startedAgain', input, 'firstRunId'),
  take({ state, inbox }, { runId, firstRunId }) {
    const parent = parentOf(state ?? {});
    if (parent?.runId !== runId || parent.firstRunId === undefined || parent.firstRunId === firstRunId) return;
    inbox.cancelReason ??= `The run "${runId}", which started this one, was started again`;
    inbox.cancelAsked = true;
  },
};

/** The maximum characters of a run id. */
const MAX_ID = 1_000;

function isChild({ state }: MessageReceiver, runId: string): boolean {
  return childrenOf(state).includes(runId);
}

/** False for an earlier turn of a session, whose answer was given up. */
function isWaitedFor({ state }: MessageReceiver, { runId, turn, call }: ChildEndedInput): boolean {
  if (turn === undefined) return true;
  return agentsOfCalls(state ?? {}).some(
    (child) => child.runId === runId && (call === undefined ? child.turn === turn : callText(child) === call),
  );
}

function idProblem(run: MessageReceiver, request: string, input: unknown, field: string): ReturnType<RequestKind<never, void>['refusal']> {
  const id = isJsonObject(input) ? input[field] : undefined;
  if (typeof id === 'string' && id !== '' && id.length <= MAX_ID) return undefined;
  return invalidRequest(run, request, `"${field}" must be the id of a run`);
}

/** Revokes a remembered decision. Calls that it has already released continue. */
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

/** Cancels the run: stores the reason, and then an activity asks the server to cancel the workflow. */
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

/** The Updates that a run accepts, by name, in the order of handler registration. */
export const UPDATE_KINDS = {
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
} as Readonly<Record<keyof typeof UPDATES, AnyKind>>;

/** The Signals that a run accepts, by the same rules, for callers that can only send Signals. */
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

/** Returns why an Update is refused, or undefined. */
export function refuseUpdate(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown, now: number): Refusal | undefined {
  return requestRefusal(UPDATE_KINDS[name], run, { name, input, now });
}

/** Accepts an Update that was not refused. */
export function takeUpdate(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown, now: number): unknown {
  run.inbox.countUpdate();
  return acceptRequest(UPDATE_KINDS[name], run, { name, input }, { source: 'update', now });
}

/** Accepts or refuses a Signal. A refusal becomes an event of the run, because a Signal has no answer. */
export function takeSignal(run: MessageReceiver, name: keyof typeof SIGNALS, input: unknown, now: number): Refusal | undefined {
  run.inbox.received += 1;
  const kind = SIGNAL_KINDS[name];
  const refused = requestRefusal(kind, run, { name, input, now });
  if (refused === undefined) acceptRequest(kind, run, { name, input }, { source: 'signal', now });
  else run.inbox.refuse({ request: name, ...identityOf(input), ...refused });
  return refused;
}

/** A request as it was sent. */
interface SentRequest {
  name: string;
  input: unknown;
}

function requestRefusal(kind: AnyKind, run: MessageReceiver, { name, input, now }: SentRequest & { now: number }): Refusal | undefined {
  const problem = inboundProblem(input);
  if (problem !== undefined) return invalidRequest(run, name, problem);
  const refused = kind.refusal(run, input, now);
  const asked = refused === undefined ? identified(kind, run, { name, input }) : undefined;
  return asked !== undefined && run.inbox.accepted.hasOther(asked.id, asked.digest) ? reusedId(run.runId, asked.id) : refused;
}

function acceptRequest(kind: AnyKind, run: MessageReceiver, sent: SentRequest, arrival: InboundMessage): unknown {
  const asked = identified(kind, run, sent);
  const receipt = kind.take(run, sent.input as never, arrival);
  if (asked !== undefined) run.inbox.accepted.note(asked.id, asked.digest);
  return receipt;
}

/** Returns the id of a request and the digest of what it asks for; undefined if it has none of them. */
function identified(kind: AnyKind, run: MessageReceiver, { name, input }: SentRequest): { id: string; digest: string } | undefined {
  const asked = kind.asks?.(run, input as never);
  return asked === undefined ? undefined : { id: (input as { id: string }).id, digest: requestDigest(name, asked) };
}

/** Returns the ids and the caller in a refused request, each cut to a safe length. */
function identityOf(input: unknown): { id?: string; callId?: string; by?: string } {
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? cutText(value, 200) : undefined);
  const { id, callId, by } = isJsonObject(input) ? input : {};
  const fields = { id: text(id), callId: text(callId), by: text(by) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
