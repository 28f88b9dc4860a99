import {
  alreadyDecided,
  type Approvals,
  deadlineOf,
  decidedOf,
  decider,
  type Decision,
  decisionByDeadline,
  lostAnswer,
  type PendingApproval,
  pendingOf,
  RAISE_LIMITS,
  type RefusedRequest,
  type RememberedDecision,
  rememberedFor,
  withoutContent,
} from '../domain/approvals.ts';
import type { ToolCall } from '../domain/content.ts';
import { defined, type JsonObject } from '../domain/json.ts';
import type { LimitChanges, LimitReached } from '../domain/limits.ts';
import { isoTime, type WaitDeadline } from '../domain/time.ts';
import { rejectedCall } from '../domain/tool-calls.ts';
import { fitsContinueAsNew } from './continue-as-new.ts';
import { deniedAgain, type PreparedCall, type ToolBatch } from './tool-calls.ts';
import type { Verdict } from '../domain/requests.ts';
import { fixedDeadline, raisable, raiseLimits } from './limits.ts';
import { takeRequests } from './messages.ts';
import { endAtLimit, type NextStep, type Position, type ToolBatchContext } from './next-step.ts';
import { points } from './points.ts';
import {
  type Authorization,
  callResult,
  type GivenDecision,
  notRunResult,
  type RunPorts,
  type ToolInvocation,
  unknownResult,
} from './ports.ts';
import { recordEvent, type RunState } from './run-state.ts';
import { newest } from '../domain/byte-budgets.ts';
import { asRewritten } from '../domain/rewrites.ts';

// Tool phase: calls that need a decision.

/** Requests a decision for each call that needs one, unless a remembered decision applies to it. */
export function askForDecisions(acting: ToolBatchContext, ports: RunPorts, batch: ToolBatch): void {
  const { state } = acting;
  const { approvals, snapshot } = state;
  for (const [position, one] of batch.prepared.entries()) {
    if (one.type !== 'execute' || one.requirement === undefined || batch.outcomes[position] !== null) continue;
    const { call, tool, eventId, index, step } = one.invocation;
    const callId = call.toolCallId;
    if (pendingOf(approvals, callId) !== undefined || approvals.approved.some((approved) => approved.callId === callId)) continue;
    if (points.hasStarted(state, one.invocation)) continue;
    const { digest, reason, ...deadline } = one.requirement;
    const remembered = settleRemembered(state, ports, { callId, toolName: tool.name, digest });
    if (remembered !== undefined) {
      applyDecision(acting, batch, remembered, undefined);
      continue;
    }
    const now = ports.now();
    requestDecision(state, ports, {
      kind: tool.answer === undefined ? 'tool' : 'question',
      callId,
      toolName: tool.name,
      digest,
      key: `${eventId}/${index}`,
      step,
      requestedAt: now,
      ...deadlineOf({ ...snapshot.approvals, ...tool.approval, ...deadline }, now),
      ...defined({ reason }),
    });
  }
}

/** Applies the decisions that have arrived. This comes first: an approver whose decision was accepted must see it applied. */
export async function takeDecisions(acting: ToolBatchContext, ports: RunPorts, batch: ToolBatch): Promise<void> {
  const { state } = acting;
  takeRequests(state, ports);
  points.gateOpens(state, ports);
  const { pending } = state.approvals;
  for (const decision of await settleDecisions(state, ports)) {
    applyDecision(acting, batch, decision, lostAnswer(pending, decision.callId));
  }
}

/** Returns the call, possibly with edited arguments, if it may start: it needs no decision, or has been approved. */
export function startable(
  { approvals }: RunState,
  { invocation, requirement }: PreparedCall & { type: 'execute' },
): ToolInvocation | undefined {
  const { call } = invocation;
  if (lostAnswer(approvals.pending, call.toolCallId) !== undefined) return undefined;
  if (requirement === undefined) return invocation;
  const approved = approvals.approved.find(({ callId }) => callId === call.toolCallId);
  return approved === undefined ? undefined : asEdited(invocation, approved.arguments);
}

/** Returns an approved call with the approver's arguments, if there are any. */
export function asEdited(invocation: ToolInvocation, edited: JsonObject | undefined): ToolInvocation {
  return edited === undefined ? invocation : { ...invocation, call: { ...invocation.call, arguments: edited }, edited: true };
}

/** Applies a decision to its call, or to the call's outcome if that was unknown. */
function applyDecision(
  { state, calls, response }: ToolBatchContext,
  { outcomes }: ToolBatch,
  { type, callId, toolName, arguments: edited, reason, content }: Decision,
  lost: string | undefined,
): void {
  const index = calls.findIndex(({ toolCallId }) => toolCallId === callId);
  const call = calls[index];
  if (type === 'approve') {
    state.approvals.approved.push({ callId, ...defined({ arguments: edited }) });
    // A rule may have changed while the call waited.
    const denied = call && deniedAgain(state, { call: withArguments(asRewritten(response, call), edited), made: response, place: '' });
    if (denied !== undefined) outcomes[index] = notRunResult('refused', denied);
  }
  if (type === 'reject')
    outcomes[index] = lost === undefined ? notRunResult('refused', rejectedCall(reason)) : unknownResult(toolName, lost, reason);
  if (type === 'respond') {
    // The content replaces the call, unless it answers a question or reports the outcome of a lost call, which has run.
    const isInstead = lost === undefined && !isQuestion(state, toolName);
    const given = { ...callResult('success', ...(content === undefined ? [] : [content])), durationMs: null };
    outcomes[index] = isInstead ? { ...given, notRun: 'answered' } : given;
  }
}

function isQuestion({ snapshot }: RunState, toolName: string): boolean {
  return snapshot.tools.some(({ name, answer }) => name === toolName && answer !== undefined);
}

function withArguments(call: ToolCall, edited: JsonObject | undefined): ToolCall {
  return edited === undefined ? call : { ...call, arguments: edited };
}

// Shared state: asks a person at a limit, before a model call and before tool calls.

/**
 * Handles a reached limit: ends the run, or asks a person to raise the limit. Returns undefined once it is raised, by an approval or
 * by `raise`. `currentLimit` returns the limit that is reached now, if any.
 */
export async function askAtLimit(
  state: RunState,
  ports: RunPorts,
  position: Position,
  currentLimit: () => LimitReached | undefined,
): Promise<NextStep | undefined> {
  awaitAgain(state, ports);
  for (;;) {
    const { received } = ports.inbox;
    takeRequests(state, ports);
    const [decision] = await settleDecisions(state, ports);
    if (decision?.type === 'approve') raiseLimits(state, decision.arguments as LimitChanges);
    const reached = currentLimit();
    if (reached === undefined || ports.cancelRequested()) break;
    const raise = decision?.type === 'reject' || state.limits.onLimit !== 'ask' ? undefined : raisable(state, reached);
    if (raise === undefined) {
      await endAsking(state, ports);
      return endAtLimit(state, reached.stopReason);
    }
    // The limit was raised and another one is reached: the pending approval is replaced.
    if (state.approvals.pending[0]?.reason !== reached.message) {
      state.approvals.pending = [];
      requestDecision(state, ports, limitApproval(state, ports, raise));
    }
    showWaiting(state, ports);
    if (ports.continueDue(WAITING) && fitsContinueAsNew(state)) return { type: 'continue', position };
    await waitForChange(state, ports, { received, ended: () => 0 });
  }
  await endAsking(state, ports);
  return undefined;
}

/** Ends the wait at a limit. Decisions that came meanwhile are refused, and their senders receive the refusal. */
async function endAsking(state: RunState, ports: RunPorts): Promise<void> {
  state.approvals.pending = [];
  if (ports.inbox.decisions.length > 0) await settleDecisions(state, ports);
  showWaiting(state, ports);
}

/** Returns the pending approval that asks a person to raise a limit. */
export function limitApproval(
  { window, snapshot, context }: RunState,
  ports: RunPorts,
  { message, proposal }: LimitReached,
): PendingApproval {
  const callId = `limit-${window.through}`;
  return {
    kind: 'limit',
    callId,
    toolName: RAISE_LIMITS,
    // The digest identifies the proposal: it depends only on the record, whose number of events is in the call id.
    digest: `${callId}/${JSON.stringify(proposal)}`,
    key: callId,
    step: context.currentStep + 1,
    requestedAt: ports.now(),
    // Always rejected at the deadline, because a limit approved by its deadline would be raised again and again.
    ...deadlineOf({ ...snapshot.approvals, onDeadline: 'reject' }, ports.now()),
    reason: message,
    proposal,
  };
}

// Shared state: applies decisions, for calls (tool phase) and for limits (both phases).

/**
 * Applies the received decisions in order, then the expired deadlines, and returns all decisions that took effect. If the snapshot requires
 * it, the worker checks each approver first. Every decision is recorded as an event, including those that `authorizeDecisions` refuses.
 */
export async function settleDecisions(state: RunState, ports: RunPorts): Promise<Decision[]> {
  const settled: Decision[] = [];
  const { decisions } = ports.inbox;
  // Awaits only if necessary, because every promise in the sandbox costs a stack trace.
  const edits = ports.parseEdits(decisions);
  const given = edits === undefined ? [...decisions] : await edits;
  const count = given.length;
  const verdicts = state.snapshot.authorize && count > 0 ? await authorizeDecisions(state, ports, given) : [];
  ports.inbox.takeDecisions(count);
  for (const [index, decision] of given.entries()) {
    const applied = settleDecision(state, ports, decision, verdicts[index]);
    if (applied !== undefined) settled.push(applied, ...settleAlike(state, ports, applied));
  }
  for (const waiting of state.approvals.pending.filter(({ deadlineAt = Infinity }) => deadlineAt <= ports.now())) {
    settled.push(recordDecision(state, ports, decisionByDeadline(waiting, ports.now())));
  }
  return settled;
}

/** Applies a remembered decision to the calls that are already waiting. */
function settleAlike(state: RunState, ports: RunPorts, { remember }: Decision): Decision[] {
  if (remember === undefined) return [];
  const waiting = state.approvals.pending.filter(({ kind }) => kind === 'tool');
  return waiting.map((one) => settleRemembered(state, ports, one)).filter((one) => one !== undefined);
}

function authorizeDecisions(state: RunState, ports: RunPorts, decisions: readonly Decision[]): Promise<Authorization[]> {
  return Promise.all(
    decisions.map((decision) => {
      const waiting = pendingOf(state.approvals, decision.callId);
      return waiting === undefined ? Promise.resolve<Authorization>({ type: 'authorized', as: '' }) : ports.authorize(decision, waiting);
    }),
  );
}

/** Applies one decision and returns it as recorded; undefined if it has no effect. */
function settleDecision(
  state: RunState,
  ports: RunPorts,
  { problem, ...decision }: GivenDecision,
  verdict: Authorization | undefined,
): Decision | undefined {
  if (problem !== undefined) return refuseDecision(state, ports, decision, { code: 'invalid_arguments', message: problem });
  if (verdict?.type === 'refused') {
    const message = `Not authorized to decide call "${decision.callId}": ${verdict.reason}`;
    return refuseDecision(state, ports, decision, { code: 'not_authorized', message });
  }
  // During the check, another decision may have been applied, or the call may have been given up, by a message or a cancellation. The run
  // may stay open, so the sender must not wait for its end.
  if (verdict?.type === 'cancelled' || pendingOf(state.approvals, decision.callId) === undefined) {
    const decided = decidedOf(state.approvals, decision.callId);
    const gone = { code: 'unknown_call', message: `Call "${decision.callId}" of run "${state.runId}" is no longer waiting` };
    return refuseDecision(state, ports, decision, decided === undefined ? gone : alreadyDecided(state.runId, decided));
  }
  return recordDecision(state, ports, verdict === undefined ? decision : { ...decision, verifiedBy: verdict.as });
}

function recordDecision(state: RunState, ports: RunPorts, decision: Decision): Decision {
  decide(state.approvals, decision, points.laterAgent(state));
  recordEvent(state, ports, { author: decider(decision), content: [], decision });
  settleVerdict(state, ports, decision.id, { type: 'decided', decision });
  return decision;
}

/** The maximum number of decisions kept in memory to recognize repeated ones, and their maximum bytes of JSON. */
const DECIDED = { count: 500, bytes: 60_000 };
const REMEMBERED = { count: 100, bytes: 20_000 };

/**
 * Removes the pending approval of a decided call, and remembers the decision if it applies to further calls. `agent`: the agent whose calls
 * it applies to, if the run did not begin with it.
 */
export function decide(approvals: Approvals, decision: Decision, agent?: string): void {
  const { callId, remember, type, toolName, digest } = decision;
  const summary = withoutContent(decision);
  approvals.pending = approvals.pending.filter((one) => one.callId !== callId);
  approvals.decided = newest([...approvals.decided, summary], DECIDED);
  if (remember === undefined || type === 'respond') return;
  const { id, reason, by, verifiedBy, at } = summary;
  const remembered: RememberedDecision = {
    id,
    type,
    toolName,
    ...defined({ agent }),
    ...(remember === 'arguments' ? { digest } : {}),
    ...defined({ reason }),
    by,
    ...defined({ verifiedBy }),
    at,
  };
  approvals.remembered = newest([...approvals.remembered, remembered], REMEMBERED);
}

function refuseDecision(
  state: RunState,
  ports: RunPorts,
  { id, type, callId, by }: Decision,
  why: Pick<RefusedRequest, 'code' | 'message'>,
): undefined {
  const refused = { request: type, id, callId, ...(by === null ? {} : { by }), ...why };
  recordEvent(state, ports, { author: by ?? 'user', content: [], refused });
  settleVerdict(state, ports, id, { type: 'refused', ...why });
  return undefined;
}

/** Reports the outcome of a decision to its sender, who waits for it only if the worker checks approvers. */
function settleVerdict({ snapshot }: RunState, { inbox }: RunPorts, id: string, verdict: Verdict): void {
  if (snapshot.authorize) inbox.verdicts.settle(id, verdict);
}

/** Applies the remembered decision for a call and returns the new decision, or undefined if none is remembered. */
export function settleRemembered(
  state: RunState,
  ports: RunPorts,
  { callId, toolName, digest }: Pick<PendingApproval, 'callId' | 'toolName' | 'digest'>,
): Decision | undefined {
  const remembered = rememberedFor(state.approvals, toolName, { digest, agent: points.laterAgent(state) });
  if (remembered === undefined) return undefined;
  const { id, digest: _, agent: __, ...rest } = remembered;
  const at = isoTime(ports.now());
  return recordDecision(state, ports, { ...rest, id: `${id} for ${callId}`, callId, digest, source: 'remembered', at });
}

// Shared state: waits for decisions, for calls (tool phase) and for limits (both phases).

/** The growth of the history of a waiting run, which receives only decisions and messages. */
export const WAITING = { events: 4, bytes: 1_000 };

/** Adds a pending approval. */
export function requestDecision(state: RunState, ports: RunPorts, waiting: PendingApproval): void {
  state.approvals.pending.push(waiting);
  points.decisionAwaited(state, ports, waiting);
}

/** Resumes waiting for the pending approvals of the previous execution. */
export function awaitAgain(state: RunState, ports: RunPorts): void {
  for (const waiting of state.approvals.pending) points.decisionAwaited(state, ports, waiting);
}

/** Sets the status from the pending approvals of the run and of the runs that it waits for, and informs observers. */
export function showWaiting(state: RunState, ports: RunPorts): void {
  const isWaiting = state.approvals.pending.length > 0 || points.waitsForPerson(ports);
  const status = isWaiting ? 'pending_confirmation' : 'running';
  if (status === state.status && status === 'running') return;
  state.status = status;
  ports.recorded?.(state);
}

/** The requests and ended calls that the loop has handled before it waits. */
interface HandledSoFar {
  /** The inbox's request count, read before any request was taken. */
  received: number;
  /** Returns the number of calls that have ended. */
  ended: () => number;
  /** The time when the first postponed call may start. */
  postponed?: WaitDeadline | undefined;
}

/**
 * Waits until a request arrives, `ended` grows, the run is cancelled, or the nearest deadline passes, of a pending approval or of the run
 * itself. Returns at once if a request has arrived since `received` was read, for example while the worker checked an approver or evaluated
 * a predicate.
 */
export async function waitForChange(state: RunState, ports: RunPorts, handled: HandledSoFar): Promise<void> {
  const { received } = ports.inbox;
  if (received > handled.received) return;
  const { ended } = handled;
  const before = ended();
  const deadline = nearestDeadline(state, ports.now(), handled.postponed);
  await ports.until(() => ports.inbox.received > received || ended() > before, deadline);
}

/** Returns the next deadline. The deadline of the run ends a wait only if it ends the run without asking a person. */
export function nearestDeadline(state: RunState, now: number, postponed?: WaitDeadline): WaitDeadline | undefined {
  const deadlines: WaitDeadline[] = state.approvals.pending.flatMap(({ deadlineAt, toolName }) =>
    deadlineAt === undefined ? [] : [{ at: deadlineAt, summary: `deadline of the decision on ${toolName}` }],
  );
  if (postponed !== undefined) deadlines.push(postponed);
  deadlines.push({ at: fixedDeadline(state), summary: 'deadline of the run' });
  return deadlines.filter(({ at }) => at > now && at < Infinity).toSorted((a, b) => a.at - b.at)[0];
}
