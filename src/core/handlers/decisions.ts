import {
  alreadyDecided,
  type DecidedCall,
  decidedOf,
  type Decision,
  noApprovals,
  notOpen,
  type PendingApproval,
  pendingOf,
  withoutContent,
} from '../domain/approvals.ts';
import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import { defined, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { LIMIT_CHANGES } from '../domain/limits.ts';
import { reusedId } from '../domain/requests.ts';
import type { SessionKind } from '../domain/run-input.ts';
import type { Principal } from '../domain/run.ts';
import { isoTime } from '../domain/time.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';
import { undeclaredFields } from '../json-schema/undeclared-fields.ts';
import { abovePart } from '../kernel/limits.ts';
import { deniedAgain } from '../kernel/tool-calls.ts';
import type { RunState } from '../kernel/run-state.ts';
import type { Inbox } from '../kernel/inbox.ts';
import type { ApproveInput, DecisionReceipt, RaiseInput, RaiseReceipt, RejectInput, RespondInput } from '../protocol.ts';
import { isSession } from '../sessions/open-session.ts';
import { argumentsOf } from '../queries/run-views.ts';
import { decisionProblem, raiseProblem } from '../input-checks.ts';
import { acceptedLimits, acceptedSessionLimits, loweredLimit, loweredOfSession } from './accepted-limits.ts';

type AnyInput = ApproveInput & RejectInput & RespondInput;

/** Lets a call run, with the model's arguments or with edited ones. */
export const approve = decisionKind<ApproveInput>(
  'approve',
  'Lets a call run: {"callId", "id": "your own", "digest", "arguments"?, "remember"?: "tool" or "arguments", "by"?}',
);

/** Rejects a call. The model reads the reason. */
export const reject = decisionKind<RejectInput>(
  'reject',
  'Rejects a call, with a reason for the model: {"callId", "id": "your own", "digest", "reason"?, "remember"?: "tool" or "arguments", "by"?}',
);

/** Answers a call instead of running its tool. */
export const respond = decisionKind<RespondInput>(
  'respond',
  'Answers a call instead of its tool: {"callId", "id": "your own", "digest", "content", "by"?}',
);

function decisionKind<Input>(type: Decision['type'], description: string): RequestKind<Input, DecisionReceipt> {
  return {
    description,
    refusal: (run, input) => decisionRefusal(run, type, input),
    asks(run, input) {
      const { callId, id, arguments: edited, content, reason, remember } = input as AnyInput;
      const asked = defined({ arguments: edited, content, reason, remember });
      // A caller who wants to know the outcome again need not repeat the content.
      return Object.keys(asked).length === 0 && sameDecision(run, id) !== undefined ? undefined : { callId, ...asked };
    },
    take(run, input, arrival) {
      const request = input as AnyInput;
      const known = sameDecision(run, request.id);
      if (known !== undefined) return { version: 1, status: 'repeated', decision: known };
      const decision = toDecision(run, type, request, arrival);
      run.inbox.decide(decision);
      return { version: 1, status: 'decided', decision: withoutContent(decision) };
    },
  };
}

function toDecision({ state }: MessageReceiver, type: Decision['type'], request: AnyInput, { source, now }: InboundMessage): Decision {
  const waiting = pendingOf(state?.approvals ?? noApprovals(), request.callId);
  return {
    ...proposedLimits(waiting, type),
    ...request,
    type,
    toolName: waiting?.toolName ?? '',
    by: request.by ?? null,
    source,
    at: isoTime(now),
  };
}

/** Returns the proposed limits for an approval of a limit, so that its record contains the limits even if the approver gave none. */
function proposedLimits(waiting: PendingApproval | undefined, type: Decision['type']): { arguments?: JsonObject } {
  return type === 'approve' && waiting?.proposal !== undefined ? { arguments: { ...waiting.proposal } } : {};
}

/** Returns the decision with that id, whether applied or pending. */
function sameDecision({ state, inbox }: MessageReceiver, id: string): DecidedCall | undefined {
  const queued = inbox.decisions.find((one) => one.id === id);
  return queued === undefined ? state?.approvals.decided.findLast((one) => one.id === id) : withoutContent(queued);
}

function decisionRefusal(run: MessageReceiver, type: Decision['type'], input: unknown): Refusal | undefined {
  const problem = decisionProblem(type, input);
  if (problem !== undefined) return invalidRequest(run, type, problem);
  const request = input as AnyInput;
  const { callId, id, digest } = request;
  const same = sameDecision(run, id);
  if (same !== undefined && same.callId !== callId) return reusedId(run.runId, id);
  if (same !== undefined) return same.type === type ? undefined : alreadyDecided(run.runId, same);
  const busy = unavailable(run, 'decisions');
  if (busy !== undefined) return busy;

  const waiting = run.state === undefined ? undefined : pendingOf(run.state.approvals, callId);
  // If the worker authorizes decisions, it may still refuse the first one: then it checks both, in order.
  const queued = run.state?.snapshot.authorize ? undefined : run.inbox.decisions.find((one) => one.callId === callId);
  const decided = queued ?? (waiting === undefined && run.state !== undefined ? decidedOf(run.state.approvals, callId) : undefined);
  if (decided !== undefined) return notOpen(run.runId, decided, digest);
  if (waiting === undefined) {
    return { code: 'unknown_call', message: `No call "${callId}" of run "${run.runId}" waits for a decision` };
  }
  if (waiting.digest !== digest) {
    const message = `The decision on call "${callId}" of "${waiting.toolName}" was made on other arguments than the call has: look at what waits now, and decide on that`;
    return { code: 'digest_mismatch', message };
  }
  return contentRefusal(run, waiting, type, request) ?? noRoomForRequest(toDecision(run, type, request, { source: 'update', now: 0 }), run);
}

/** Refuses a decision whose type or content does not fit the pending approval. */
function contentRefusal(run: MessageReceiver, waiting: PendingApproval, type: Decision['type'], request: AnyInput): Refusal | undefined {
  const { kind, toolName, callId } = waiting;
  const refused = (problem: string): Refusal => invalidRequest(run, type, problem);
  if (kind === 'question' && type === 'approve') return refused(`call "${callId}" is a question: answer it with "respond", or reject it`);
  if (kind === 'outcome' && type === 'approve') {
    return refused(`call "${callId}" has started, and is never started again: give its result with "respond", or reject it`);
  }
  if (kind === 'limit' && type === 'respond') return refused(`"${callId}" is a limit: approve or reject it`);
  if (kind !== 'tool' && request.remember !== undefined) return refused(`"remember" is for calls of tools, and "${callId}" is a ${kind}`);
  if (request.remember === 'arguments' && request.arguments !== undefined) {
    return refused('"remember": "arguments" holds for the arguments that the model gave: leave out "arguments", or remember the tool');
  }
  if (kind === 'limit') return request.arguments === undefined ? undefined : limitsRefusal(run, request.arguments, refused);
  const tool = run.state?.snapshot.tools.find(({ name }) => name === toolName);
  if (type === 'approve' && request.arguments !== undefined) {
    return (
      valueRefusal(waiting, 'arguments', request.arguments, tool?.schema) ??
      misspeltArguments(run, waiting, request.arguments, tool?.schema) ??
      deniedArguments(run, waiting, request.arguments)
    );
  }
  if (type === 'respond') return valueRefusal(waiting, 'content', request.content, tool?.answer);
  return undefined;
}

/** Refuses edited arguments if a rule denies the call with them. */
function deniedArguments({ runId, state }: MessageReceiver, { toolName, callId }: PendingApproval, args: JsonObject): Refusal | undefined {
  const call = { type: 'tool_call' as const, toolCallId: callId, name: toolName, arguments: args };
  const denied = state === undefined ? undefined : deniedAgain(state, { call, made: { content: [call] }, place: '' });
  if (denied === undefined) return undefined;
  const message = `"arguments" for call "${callId}" of run "${runId}": ${denied} Edit them differently, or reject the call`;
  return { code: 'not_permitted', message };
}

/** Refuses edited arguments with a field that neither the tool nor the model knows: the tool would ignore what the approver meant. */
function misspeltArguments(
  { state }: MessageReceiver,
  waiting: PendingApproval,
  args: JsonObject,
  schema: JsonObject | undefined,
): Refusal | undefined {
  if (state === undefined || schema === undefined) return undefined;
  const problems = undeclaredFields(schema, args, argumentsOf(state, waiting));
  return problems.length === 0 ? undefined : unfitValue(waiting, 'arguments', problems);
}

function limitsRefusal({ state, inbox }: MessageReceiver, limits: JsonObject, refused: (problem: string) => Refusal): Refusal | undefined {
  const problems = checkJson(LIMIT_CHANGES, limits);
  if (problems.length > 0) return refused(`arguments: ${problemsText(problems)}`);
  if (state === undefined) return undefined;
  const lowered = loweredLimit(acceptedLimits(state, inbox.raises), limits);
  if (lowered !== undefined) return refused(lowered);
  const above = abovePart(state, limits);
  return above === undefined ? undefined : { ...refused(above), code: 'budget_exceeded' };
}

function valueRefusal(
  waiting: PendingApproval,
  field: 'arguments' | 'content',
  value: JsonValue,
  schema: JsonObject | undefined,
): Refusal | undefined {
  const bytes = jsonBytes(value);
  if (bytes > BYTE_BUDGETS.decision) {
    return {
      code: 'payload_too_large',
      message: `"${field}" for call "${waiting.callId}" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.decision}`,
    };
  }
  const problems = schema === undefined ? [] : checkJson(schema, value);
  return problems.length === 0 ? undefined : unfitValue(waiting, field, problems);
}

function unfitValue({ callId, toolName }: PendingApproval, field: string, problems: readonly JsonProblem[]): Refusal {
  return {
    code: 'invalid_arguments',
    message: `"${field}" for call "${callId}" does not fit tool "${toolName}": ${problemsText(problems)}`,
  };
}

/** Raises limits of the run while it is running or waiting. */
export const raise: RequestKind<RaiseInput, RaiseReceipt> = {
  description: 'Raises limits: {"id": "your own", "limits": {"steps": 20, "totalTokens": 100000, ...}, "by"?}',
  refusal(run, input) {
    const problem = raiseProblem(input);
    if (problem !== undefined) return invalidRequest(run, 'raise', problem);
    const busy = unavailable(run, 'decisions');
    if (busy !== undefined) return busy;
    const { id, limits = {}, session } = input as RaiseInput;
    // This state is brief: the first activity of the run resolves the agent.
    if (run.state === undefined)
      return { code: 'busy', message: `Run "${run.runId}" has not resolved its agent yet: send it again in a moment` };
    if (run.inbox.accepted.has(id)) return undefined;
    const { raises } = run.inbox;
    const lowered = loweredLimit(acceptedLimits(run.state, raises), limits) ?? loweredOfSession(run.state, session, raises);
    if (lowered !== undefined) return invalidRequest(run, 'raise', lowered);
    const above = abovePart(run.state, limits);
    return above === undefined ? noRoomForRequest(input, run) : { code: 'budget_exceeded', message: `Run "${run.runId}": ${above}` };
  },
  asks: (_, { limits = {}, session }) => ({ limits: { ...limits }, ...(session === undefined ? {} : { session: { ...session } }) }),
  take(run, { id, limits = {}, session, by }, { now }) {
    const isNew = run.inbox.raise({
      id,
      limits,
      ...defined({ session }),
      by: by ?? null,
      at: isoTime(now),
    });
    const { state, inbox } = run;
    return {
      version: 1,
      id,
      status: isNew ? 'raised' : 'duplicate',
      limits: state === undefined ? { steps: 0, finalAttempt: false } : acceptedLimits(state, inbox.raises),
      ...(session === undefined || state === undefined || !isSession(state) ? {} : { session: acceptedSessionLimits(state, inbox.raises) }),
    };
  },
};

/**
 * The requests that a run accepts from callers, and their effects. Both the workflow's handlers and the client, when it reads a run back
 * from its history, use them, so that both get the same result.
 */

/** The part of a run that receives requests. */
export interface MessageReceiver {
  readonly runId: string;
  readonly inbox: Inbox;
  /** Undefined until the agent is resolved. */
  readonly state?: RunState;
  /** The identity on whose behalf the run acts, before it has a state. */
  readonly principal?: Principal;
  /** The kind of session that the run starts as, before it has a state. Absent for a run that ends with its answer. */
  readonly opensAs?: SessionKind;
  /** The agent that the run starts with, before it has a state. */
  readonly agentName?: string;
  /** The input of the run of a program, also before it has a state. */
  readonly programInput?: object;
}

/** The reason for refusing a request. */
export interface Refusal {
  code: ErrorCode;
  message: string;
}

/** The source and time of a request. */
export interface InboundMessage {
  source: 'update' | 'signal';
  /** Milliseconds since the epoch. */
  now: number;
}

/** The checks and the effect of one kind of request. */
export interface RequestKind<Input, Receipt> {
  /** A description for people who send the request from the Temporal UI. */
  readonly description: string;
  /**
   * Returns why the request is refused, or undefined. `now` is in milliseconds since the epoch. Must not change anything, and never throws.
   */
  refusal(run: MessageReceiver, input: unknown, now: number): Refusal | undefined;
  /**
   * Returns what a request asks for, if callers give requests of this kind an `id`: a repetition is accepted without an effect, and a request
   * with the id that asks for something else is refused. Undefined for a repetition that leaves out its content.
   */
  asks?(run: MessageReceiver, input: Input): JsonObject | undefined;
  /** Accepts a request that was not refused: stores it for the loop and returns at once. */
  take(run: MessageReceiver, input: Input, arrival: InboundMessage): Receipt;
}

/** Returns why a run accepts no requests at the moment or any more, or undefined. */
export function unavailable(run: MessageReceiver, about: Parameters<Inbox['isBusy']>[0]): Refusal | undefined {
  if (run.inbox.closed || !run.inbox.isBusy(about)) return refuseIfEnded(run);
  return { code: 'busy', message: `Run "${run.runId}" accepts no requests until it has continued as new: send it again in a moment` };
}

/** Returns the refusal of a run that has ended, or undefined for a running one. */
export function refuseIfEnded({ runId, inbox }: MessageReceiver): Refusal | undefined {
  return inbox.closed ? { code: 'run_ended', message: `Run "${runId}" has ended: start a new one` } : undefined;
}

/** Returns why a run has no room for another request, or undefined. There is room again once the loop has applied the others. */
export function noRoomForRequest(request: unknown, { runId, inbox }: MessageReceiver): Refusal | undefined {
  if (inbox.hasRoomForRequest(request)) return undefined;
  return { code: 'busy', message: `Run "${runId}" has not applied the earlier requests yet: send it again in a moment` };
}

/** Returns the refusal of a request that does not have the expected shape. */
export function invalidRequest({ runId }: MessageReceiver, request: string, problem: string): Refusal {
  return { code: 'invalid_input', message: `Run "${runId}" refused "${request}": ${problem}` };
}
