// Shared state: pending decisions as a person sees them.

import type { ApprovalView, PendingApproval } from '../../domain/approvals.ts';
import type { JsonObject } from '../../domain/json.ts';
import { jsonBytes } from '../../domain/byte-budgets.ts';
import { jsonTextPrefix } from '../../domain/text.ts';
import { rewrittenArguments } from '../hooks/rewritten-arguments.ts';
import { findEvent, type RunState } from '../state/run-state.ts';
import { isoTime } from '../../domain/time.ts';

/** Bytes of JSON of the arguments of one call in a list of pending approvals. */
const SHOWN_BYTES = 20_000;

/** Returns the pending approvals in the order of their requests, with all that an approver needs to decide them. */
export function approvalViews(state: Pick<RunState, 'approvals' | 'window' | 'code' | 'snapshot' | 'rewrites'>): ApprovalView[] {
  const { approvals, snapshot } = state;
  return approvals.pending.map((waiting) => {
    const answer = waiting.kind === 'question' ? snapshot.tools.find(({ name }) => name === waiting.toolName)?.answer : undefined;
    return { ...shownTimes(waiting), ...shown(argumentsOf(state, waiting)), ...(answer === undefined ? {} : { answer }) };
  });
}

/**
 * Returns the proposal for a limit, otherwise the arguments of the call, which is in the window as long as it has no result. A call
 * that has started may have been approved with edited arguments.
 */
function argumentsOf(
  state: Pick<RunState, 'approvals' | 'window' | 'code' | 'rewrites'>,
  { kind, callId, proposal, key }: PendingApproval,
): JsonObject {
  if (kind === 'limit') return { ...proposal };
  const approved = state.approvals.approved.find((one) => one.callId === callId);
  if (approved?.arguments !== undefined) return approved.arguments;
  const rewritten = rewrittenArguments(state, callId);
  if (rewritten !== undefined) return rewritten;
  const [eventId, index] = key.split('/');
  const event = findEvent(state, eventId ?? '');
  const call = event?.content[Number(index)];
  return call?.type === 'tool_call' ? call.arguments : {};
}

/** Returns a pending approval with its times as they are shown. */
function shownTimes({ requestedAt, deadlineAt, ...waiting }: PendingApproval): Omit<ApprovalView, 'arguments'> {
  return { ...waiting, requestedAt: isoTime(requestedAt), ...(deadlineAt === undefined ? {} : { deadlineAt: isoTime(deadlineAt) }) };
}

function shown(whole: JsonObject): Pick<ApprovalView, 'arguments' | 'argumentsCut'> {
  if (jsonBytes(whole) <= SHOWN_BYTES) return { arguments: whole };
  return { arguments: { text: jsonTextPrefix(JSON.stringify(whole), SHOWN_BYTES) }, argumentsCut: true };
}
