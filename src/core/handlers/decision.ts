import { alreadyDecided, type DecidedCall, type Decision, type PendingApproval } from '../domain/approvals.ts';
import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { noApprovals } from '../loop/state/run-state.ts';
import { decidedOf, pendingOf, withoutContent } from '../loop/approvals/approvals.ts';
import { deniedText, permissionVerdict } from '../loop/permissions/run-permissions.ts';
import { abovePart } from '../loop/limits/part-of-parent.ts';
import type { ApproveInput, DecisionReceipt, RejectInput, RespondInput } from '../protocol.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { LIMIT_CHANGES_SCHEMA } from '../wire-schemas/value-schemas.ts';
import { decisionProblem } from '../wire-schemas/request-schemas.ts';
import { loweredLimit } from './raise.ts';
import {
  type InboundMessage,
  invalidRequest,
  noRoomForRequest,
  type MessageReceiver,
  type Refusal,
  type RequestKind,
  unavailable,
} from './message-receiver.ts';
import { isoTime } from '../domain/time.ts';

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

/** Answers a call instead of its tool. */
export const respond = decisionKind<RespondInput>(
  'respond',
  'Answers a call instead of its tool: {"callId", "id": "your own", "digest", "content", "by"?}',
);

function decisionKind<Input>(type: Decision['type'], description: string): RequestKind<Input, DecisionReceipt> {
  return {
    description,
    refusal: (run, input) => refusal(run, type, input),
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
    ...proposed(waiting, type),
    ...request,
    type,
    toolName: waiting?.toolName ?? '',
    by: request.by ?? null,
    source,
    at: isoTime(now),
  };
}

/** Returns the proposed limits for an approval of a limit, so that its record names the limits even if the approver gave none. */
function proposed(waiting: PendingApproval | undefined, type: Decision['type']): { arguments?: JsonObject } {
  return type === 'approve' && waiting?.proposal !== undefined ? { arguments: { ...waiting.proposal } } : {};
}

/** Returns the decision with that id, applied before or still to be applied. */
function sameDecision({ state, inbox }: MessageReceiver, id: string): DecidedCall | undefined {
  const queued = inbox.decisions.find((one) => one.id === id);
  return queued === undefined ? state?.approvals.decided.findLast((one) => one.id === id) : withoutContent(queued);
}

function refusal(run: MessageReceiver, type: Decision['type'], input: unknown): Refusal | undefined {
  const problem = decisionProblem(type, input);
  if (problem !== undefined) return invalidRequest(run, type, problem);
  const request = input as AnyInput;
  const { callId, id, digest } = request;
  const same = sameDecision(run, id);
  if (same !== undefined) return same.callId === callId && same.type === type ? undefined : alreadyDecided(run.runId, same);
  const busy = unavailable(run, 'decisions');
  if (busy !== undefined) return busy;

  const waiting = run.state === undefined ? undefined : pendingOf(run.state.approvals, callId);
  // If the worker authorizes decisions, it may still refuse the first one: it then checks both, in their order.
  const queued = run.state?.snapshot.authorize ? undefined : run.inbox.decisions.find((one) => one.callId === callId);
  const decided = queued ?? (waiting === undefined && run.state !== undefined ? decidedOf(run.state.approvals, callId) : undefined);
  if (decided !== undefined) return alreadyDecided(run.runId, decided);
  if (waiting === undefined) {
    return { code: 'unknown_call', message: `No call "${callId}" of run "${run.runId}" waits for a decision` };
  }
  if (waiting.digest !== digest) {
    const message = `The decision on call "${callId}" of "${waiting.toolName}" was made on other arguments than the call has: look at what waits now, and decide on that`;
    return { code: 'digest_mismatch', message };
  }
  return contentRefusal(run, waiting, type, request) ?? noRoomForRequest(toDecision(run, type, request, { source: 'update', now: 0 }), run);
}

/** Refuses a decision whose type or content does not suit the pending approval. */
function contentRefusal(run: MessageReceiver, waiting: PendingApproval, type: Decision['type'], request: AnyInput): Refusal | undefined {
  const { kind, toolName, callId } = waiting;
  const refused = (problem: string): Refusal => invalidRequest(run, type, problem);
  if (kind === 'question' && type === 'approve') return refused(`call "${callId}" is a question: answer it with "respond", or reject it`);
  if (kind === 'outcome' && type === 'approve') {
    return refused(`call "${callId}" has been started, and is never started again: say what it gave with "respond", or reject it`);
  }
  if (kind === 'limit' && type === 'respond') return refused(`"${callId}" is a limit: approve or reject it`);
  if (kind !== 'tool' && request.remember !== undefined) return refused(`"remember" is for calls of tools, and "${callId}" is a ${kind}`);
  if (request.remember === 'arguments' && request.arguments !== undefined) {
    return refused('"remember": "arguments" holds for the arguments that the model gave: leave out "arguments", or remember the tool');
  }
  if (kind === 'limit') return request.arguments === undefined ? undefined : limitsRefusal(run, request.arguments, refused);
  const tool = run.state?.snapshot.tools.find(({ name }) => name === toolName);
  if (type === 'approve' && request.arguments !== undefined) {
    return valueRefusal(waiting, 'arguments', request.arguments, tool?.schema) ?? permissionRefusal(run, waiting, request.arguments);
  }
  if (type === 'respond') return valueRefusal(waiting, 'content', request.content, tool?.answer);
  return undefined;
}

/** Refuses edited arguments with which the permissions deny the call. */
function permissionRefusal(
  { runId, state }: MessageReceiver,
  { toolName, callId }: PendingApproval,
  args: JsonObject,
): Refusal | undefined {
  const tool = state?.snapshot.tools.find(({ name }) => name === toolName);
  const { denied } = state === undefined || tool === undefined ? {} : permissionVerdict(state, tool, args);
  if (denied === undefined) return undefined;
  const message = `"arguments" for call "${callId}" of run "${runId}": ${deniedText(toolName, denied)} Edit them otherwise, or reject the call`;
  return { code: 'not_permitted', message };
}

function limitsRefusal({ state }: MessageReceiver, limits: JsonObject, refused: (problem: string) => Refusal): Refusal | undefined {
  const problems = checkJson(LIMIT_CHANGES_SCHEMA, limits);
  if (problems.length > 0) return refused(`arguments: ${problemsText(problems)}`);
  if (state === undefined) return undefined;
  const lowered = loweredLimit(state.limits, limits);
  if (lowered !== undefined) return refused(lowered);
  const above = abovePart(state, limits);
  return above === undefined ? undefined : { ...refused(above), code: 'budget_exceeded' };
}

function valueRefusal(
  { callId, toolName }: PendingApproval,
  field: 'arguments' | 'content',
  value: JsonValue,
  schema: JsonObject | undefined,
): Refusal | undefined {
  const bytes = jsonBytes(value);
  if (bytes > BYTE_BUDGETS.decision) {
    return {
      code: 'payload_too_large',
      message: `"${field}" for call "${callId}" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.decision}`,
    };
  }
  const problems = schema === undefined ? [] : checkJson(schema, value);
  if (problems.length === 0) return undefined;
  return {
    code: 'invalid_arguments',
    message: `"${field}" for call "${callId}" does not fit tool "${toolName}": ${problemsText(problems)}`,
  };
}
