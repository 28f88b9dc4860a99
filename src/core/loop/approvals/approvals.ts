// Shared state: pending and past decisions.

import type { ApprovalDeadline, DecidedCall, Decision, PendingApproval, RememberedDecision } from '../../domain/approvals/approval.ts';
import { cutText } from '../../domain/content/cut-content.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { newest } from '../../domain/json/newest.ts';

/** What a run waits for, and what was decided. */
export interface Approvals {
  /** In the order in which they began to wait. */
  pending: PendingApproval[];
  /** Calls of the response at hand that were approved: with other arguments where those were edited. */
  approved: ApprovedCall[];
  /** The newest decisions, the last one last. The record of events has all of them. */
  decided: DecidedCall[];
  /** Decisions that hold for further calls. */
  remembered: RememberedDecision[];
}

/** A call that was approved, and has no result yet. */
export interface ApprovedCall {
  callId: string;
  arguments?: JsonObject;
}

/** Decisions that a run keeps in memory, for whoever sends one again. */
const DECIDED = { count: 500, bytes: 60_000 };
const REMEMBERED = { count: 100, bytes: 20_000 };

/** Bytes of JSON of a reason as it is kept in memory. */
const REASON_BYTES = 300;

export function noApprovals(): Approvals {
  return { pending: [], approved: [], decided: [], remembered: [] };
}

/** Where a call begins to wait: when its deadline is over, and what happens then. */
export function deadlineOf({ deadlineMs, onDeadline }: ApprovalDeadline, now: number): Pick<PendingApproval, 'deadlineAt' | 'onDeadline'> {
  return deadlineMs === undefined ? {} : { deadlineAt: now + deadlineMs, onDeadline: onDeadline ?? 'deny' };
}

/** The pending approval of a call. */
export function pendingOf({ pending }: Approvals, callId: string): PendingApproval | undefined {
  return pending.find((one) => one.callId === callId);
}

/** True for a call about whose outcome somebody is asked: it has been started, in this execution or in one before. */
export function isAskedAbout(pending: readonly PendingApproval[], toolCallId: string): boolean {
  return pending.some(({ kind, callId }) => kind === 'outcome' && callId === toolCallId);
}

/** The decision that was taken about a call; the newest, where call ids repeat. */
export function decidedOf({ decided }: Approvals, callId: string): DecidedCall | undefined {
  return decided.findLast((one) => one.callId === callId);
}

/** A decision that holds for a call of the tool with arguments of that digest: the newest. */
export function rememberedFor({ remembered }: Approvals, toolName: string, digest: string): RememberedDecision | undefined {
  return remembered.findLast((one) => one.toolName === toolName && (one.digest === undefined || one.digest === digest));
}

/** A decision without its content. */
export function summaryOf({ arguments: _, content: __, ...decision }: Decision): DecidedCall {
  return decision.reason === undefined ? decision : { ...decision, reason: cutText(decision.reason, REASON_BYTES) };
}

/** The call does not wait any more. Remembers the decision, where it says so. */
export function decide(approvals: Approvals, decision: Decision): void {
  const { callId, remember, type, toolName, digest } = decision;
  const summary = summaryOf(decision);
  approvals.pending = approvals.pending.filter((one) => one.callId !== callId);
  approvals.decided = newest([...approvals.decided, summary], DECIDED);
  if (remember === undefined || type === 'respond') return;
  const { id, reason, by, verifiedBy, at } = summary;
  const remembered: RememberedDecision = {
    id,
    type,
    toolName,
    ...(remember === 'arguments' ? { digest } : {}),
    ...(reason === undefined ? {} : { reason }),
    by,
    ...(verifiedBy === undefined ? {} : { verifiedBy }),
    at,
  };
  approvals.remembered = newest([...approvals.remembered, remembered], REMEMBERED);
}

/** Lets a decision hold for no further calls. False where none of that id did. */
export function revoke(approvals: Approvals, id: string): boolean {
  const left = approvals.remembered.filter((one) => one.id !== id);
  const isRevoked = left.length < approvals.remembered.length;
  approvals.remembered = left;
  return isRevoked;
}
