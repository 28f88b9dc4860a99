import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { errorCode } from '../../core/domain/errors/error.ts';
import { inBatches } from '../../temporal/in-batches.ts';
import type { RunApprovals } from './approvals.ts';

/** Children that are queried at once. */
const ASKED_AT_ONCE = 10;

/** Returns the pending approvals of children, each with the run that waits: the child, or a run below it. */
export async function approvalsOfChildren(
  children: readonly string[],
  approvals: (runId: string) => Promise<RunApprovals>,
): Promise<ApprovalView[]> {
  const listed = await Array.fromAsync(inBatches(children, ASKED_AT_ONCE, (runId) => ofChild(runId, approvals)));
  return listed.flat();
}

async function ofChild(runId: string, approvals: (runId: string) => Promise<RunApprovals>): Promise<ApprovalView[]> {
  try {
    const { pending, about } = await approvals(runId);
    return pending.map((waiting) => ({ about, ...waiting, runId: waiting.runId ?? runId }));
  } catch (error) {
    // It has not started yet, or was deleted.
    if (errorCode(error) === 'run_not_found') return [];
    throw error;
  }
}
