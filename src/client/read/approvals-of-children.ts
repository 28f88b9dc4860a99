import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { errorCode } from '../../core/domain/errors/error.ts';
import type { RunApprovals } from './approvals.ts';

/** Children that are queried at once. */
const ASKED_AT_ONCE = 10;

/** Returns the pending approvals of children, each with the run that waits: the child, or a run below it. */
export async function approvalsOfChildren(
  children: readonly string[],
  approvals: (runId: string) => Promise<RunApprovals>,
): Promise<ApprovalView[]> {
  const listed: ApprovalView[] = [];
  for (let from = 0; from < children.length; from += ASKED_AT_ONCE) {
    const asked = children.slice(from, from + ASKED_AT_ONCE).map((runId) => ofChild(runId, approvals));
    listed.push(...(await Promise.all(asked)).flat());
  }
  return listed;
}

async function ofChild(runId: string, approvals: (runId: string) => Promise<RunApprovals>): Promise<ApprovalView[]> {
  try {
    const { pending } = await approvals(runId);
    return pending.map((waiting) => ({ ...waiting, runId: waiting.runId ?? runId }));
  } catch (error) {
    // It has not started yet, or was deleted.
    if (errorCode(error) === 'run_not_found') return [];
    throw error;
  }
}
