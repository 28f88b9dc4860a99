// Tool phase: calls that need a decision.

import type { Decision } from '../../domain/approvals.ts';
import type { ToolCall } from '../../domain/content.ts';
import type { JsonObject } from '../../domain/json.ts';
import { deadlineOf, isAskedAbout, pendingOf } from '../approvals/approvals.ts';
import { settleDecisions, settleRemembered } from '../approvals/settle-decisions.ts';
import { requestDecision } from '../approvals/wait-for-decisions.ts';
import { takeRequests } from '../requests/messages.ts';
import type { RunPorts, ToolInvocation } from '../ports.ts';
import { asRewritten } from '../hooks/rewritten-arguments.ts';
import type { RunState } from '../state/run-state.ts';
import { takeNarrowings } from '../permissions/permission-changes.ts';
import { deniedText, permissionVerdict } from '../permissions/run-permissions.ts';
import { notRun, result, unknown } from './call-results.ts';
import type { Acting, PreparedCall } from './prepare-call.ts';
import type { ToolBatch } from './tool-batch.ts';

/** Lets each call that needs a decision begin to wait, unless a remembered decision holds for it. */
export function askForDecisions(acting: Acting, ports: RunPorts, batch: ToolBatch): void {
  const { state } = acting;
  const { approvals, snapshot } = state;
  for (const [position, one] of batch.prepared.entries()) {
    if (one.type !== 'execute' || one.requirement === undefined || batch.outcomes[position] !== null) continue;
    const { call, tool, eventId, index, step } = one.invocation;
    const callId = call.toolCallId;
    if (pendingOf(approvals, callId) !== undefined || approvals.approved.some((approved) => approved.callId === callId)) continue;
    const { digest, reason, ...deadline } = one.requirement;
    const remembered = settleRemembered(state, ports, { callId, toolName: tool.name, digest });
    if (remembered !== undefined) {
      applyDecision(acting, batch, remembered, false);
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
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

/** Applies the decisions that have come. This is done first: an approver whose decision was accepted must see it applied. */
export async function takeDecisions(acting: Acting, ports: RunPorts, batch: ToolBatch): Promise<void> {
  const { state } = acting;
  takeRequests(state, ports);
  takeNarrowings(state, ports);
  const { pending } = state.approvals;
  for (const decision of await settleDecisions(state, ports)) {
    applyDecision(acting, batch, decision, isAskedAbout(pending, decision.callId));
  }
}

/** Returns the call if it may start: it needs no decision, or has been approved, possibly with other arguments. */
export function startable(
  { approvals }: RunState,
  { invocation, requirement }: PreparedCall & { type: 'execute' },
): ToolInvocation | undefined {
  const { call } = invocation;
  if (isAskedAbout(approvals.pending, call.toolCallId)) return undefined;
  if (requirement === undefined) return invocation;
  const approved = approvals.approved.find(({ callId }) => callId === call.toolCallId);
  if (approved === undefined) return undefined;
  return approved.arguments === undefined ? invocation : { ...invocation, call: { ...call, arguments: approved.arguments }, edited: true };
}

/** Applies a decision to its call; or to the outcome of the call, if that was unknown. */
function applyDecision(
  { state, calls, response }: Acting,
  { outcomes }: ToolBatch,
  { type, callId, toolName, arguments: edited, reason, content }: Decision,
  isAboutOutcome: boolean,
): void {
  const index = calls.findIndex(({ toolCallId }) => toolCallId === callId);
  const call = calls[index];
  if (type === 'approve') {
    state.approvals.approved.push({ callId, ...(edited === undefined ? {} : { arguments: edited }) });
    // The permissions may have changed while the call waited.
    const denied = denialOf(state, call && asRewritten(response, call), edited);
    if (denied !== undefined) outcomes[index] = notRun('refused', deniedText(toolName, denied));
  }
  if (type === 'reject') outcomes[index] = isAboutOutcome ? unknown(toolName, reason) : notRun('refused', denial(reason));
  if (type === 'respond') {
    // The answer to a question is what its call is for, and a lost call has run.
    const isInstead = !isAboutOutcome && !isQuestion(state, toolName);
    const given = { ...result('success', ...(content === undefined ? [] : [content])), durationMs: null };
    outcomes[index] = isInstead ? { ...given, notRun: 'answered' } : given;
  }
}

function isQuestion({ snapshot }: RunState, toolName: string): boolean {
  return snapshot.tools.some(({ name, answer }) => name === toolName && answer !== undefined);
}

/** Returns the reason why the permissions deny an approved call; undefined if they do not. */
function denialOf(state: RunState, call: ToolCall | undefined, edited: JsonObject | undefined): string | undefined {
  const tool = state.snapshot.tools.find(({ name }) => name === call?.name);
  return call === undefined || tool === undefined ? undefined : permissionVerdict(state, tool, edited ?? call.arguments).denied;
}

/** Returns the text of a rejected call for the model. */
function denial(reason: string | undefined): string {
  const denied = 'User denied the tool execution.';
  return reason === undefined ? denied : `${denied} Reason: ${reason}`;
}
