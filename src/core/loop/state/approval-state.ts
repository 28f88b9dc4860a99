import type { ApprovalDeadline, DecidedCall, Decision, PendingApproval, RememberedDecision } from '../../domain/approvals.ts';
import { cutText, newest } from '../../domain/byte-budgets.ts';
import { defined } from '../../domain/defined.ts';
import type { JsonObject } from '../../domain/json.ts';

// Shared state: pending and past decisions.

/** The pending approvals of a run, and its decisions. */
export interface Approvals {
  /** The pending approvals, in the order of their requests. */
  pending: PendingApproval[];
  /** The approved calls of the current response, with their arguments if the approver edited them. */
  approved: ApprovedCall[];
  /** The newest decisions, the last one last. The record of events has all of them. */
  decided: DecidedCall[];
  /** Decisions that apply to further calls. */
  remembered: RememberedDecision[];
}

/** A call that was approved, and has no result yet. */
export interface ApprovedCall {
  callId: string;
  arguments?: JsonObject;
}

/** The most decisions that a run keeps in memory, to recognise those that are sent again, and their bytes of JSON. */
const DECIDED = { count: 500, bytes: 60_000 };
const REMEMBERED = { count: 100, bytes: 20_000 };

/** Bytes of JSON of a reason that is kept in memory. */
const REASON_BYTES = 300;

/** Returns the deadline of a call that begins to wait `now`, and the decision that is applied then. */
export function deadlineOf({ deadlineMs, onDeadline }: ApprovalDeadline, now: number): Pick<PendingApproval, 'deadlineAt' | 'onDeadline'> {
  return deadlineMs === undefined ? {} : { deadlineAt: now + deadlineMs, onDeadline: onDeadline ?? 'reject' };
}

export function pendingOf({ pending }: Approvals, callId: string): PendingApproval | undefined {
  return pending.find((one) => one.callId === callId);
}

/** True for a call whose outcome a person is asked about. Such a call has started, in this execution or in an earlier one. */
export function isAskedAbout(pending: readonly PendingApproval[], toolCallId: string): boolean {
  return pending.some(({ kind, callId }) => kind === 'outcome' && callId === toolCallId);
}

/** Returns the decision about a call; the newest one if call ids repeat. */
export function decidedOf({ decided }: Approvals, callId: string): DecidedCall | undefined {
  return decided.findLast((one) => one.callId === callId);
}

/** Returns the newest remembered decision that applies to a call of the tool with that digest. A tool of the same name that another agent has is another tool. */
export function rememberedFor(
  { remembered }: Approvals,
  toolName: string,
  { digest, agent }: { digest: string; agent?: string | undefined },
): RememberedDecision | undefined {
  return remembered.findLast(
    (one) => one.toolName === toolName && one.agent === agent && (one.digest === undefined || one.digest === digest),
  );
}

/** Returns a decision without its content, and with a shortened reason. */
export function withoutContent({ arguments: _, content: __, ...decision }: Decision): DecidedCall {
  return decision.reason === undefined ? decision : { ...decision, reason: cutText(decision.reason, REASON_BYTES) };
}

/** Removes the pending approval of a decided call, and remembers the decision if it applies to further calls, of that agent if it is not the one that the run began with. */
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

/** Removes a remembered decision. Returns false if there is none with that id. */
export function revoke(approvals: Approvals, id: string): boolean {
  const left = approvals.remembered.filter((one) => one.id !== id);
  const isRevoked = left.length < approvals.remembered.length;
  approvals.remembered = left;
  return isRevoked;
}
