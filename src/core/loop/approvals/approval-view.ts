// Shared state: pending decisions as a person sees them.

import type { ApprovalView, PendingApproval } from '../../domain/approvals/approval.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import { jsonTextPrefix } from '../../domain/content/text.ts';
import type { RunState } from '../state/run-state.ts';

/** Bytes of JSON of the arguments of one call in a list of what waits. */
const SHOWN_BYTES = 20_000;

/** What waits for a decision, in the order in which it began to wait, with what a person needs to decide it. */
export function approvalViews({ approvals, window, snapshot }: Pick<RunState, 'approvals' | 'window' | 'snapshot'>): ApprovalView[] {
  return approvals.pending.map((waiting) => {
    const answer = waiting.kind === 'question' ? snapshot.tools.find(({ name }) => name === waiting.toolName)?.answer : undefined;
    return { ...waiting, ...shown(argumentsOf({ approvals, window }, waiting)), ...(answer === undefined ? {} : { answer }) };
  });
}

/**
 * What is proposed, for a limit; else the arguments of the call, which is in the window for as long as it has no result.
 * One that has been started already may have been approved with others.
 */
function argumentsOf(
  { approvals, window }: Pick<RunState, 'approvals' | 'window'>,
  { kind, callId, proposal, key }: PendingApproval,
): JsonObject {
  if (kind === 'limit') return { ...proposal };
  const approved = approvals.approved.find((one) => one.callId === callId);
  if (approved?.arguments !== undefined) return approved.arguments;
  const [eventId, index] = key.split('/');
  const event = window.events.findLast(({ id }) => id === eventId);
  const call = event?.content[Number(index)];
  return call?.type === 'tool_call' ? call.arguments : {};
}

function shown(whole: JsonObject): Pick<ApprovalView, 'arguments' | 'argumentsCut'> {
  if (jsonBytes(whole) <= SHOWN_BYTES) return { arguments: whole };
  return { arguments: { text: jsonTextPrefix(JSON.stringify(whole), SHOWN_BYTES) }, argumentsCut: true };
}
