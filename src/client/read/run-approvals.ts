import type { Client } from '@temporalio/client';
import type { ApprovalView, RememberedDecision } from '../../core/domain/approvals/approval.ts';
import type { RunStatus } from '../../core/domain/run/run-status.ts';
import { type ApprovalsPage, QUERIES } from '../../core/protocol.ts';
import { queryRun } from './query-run.ts';

/** What waits for a decision in a run. */
export interface RunApprovals {
  version: 1;
  runId: string;
  agentName: string;
  status: RunStatus;
  /** In the order in which they began to wait. Empty once the run has ended. */
  pending: ApprovalView[];
  /** Decisions that hold for further calls, until they are revoked. */
  remembered: RememberedDecision[];
}

/** How often a list is begun again that has changed while its pages were read. */
const ATTEMPTS = 5;

/** What waits in the newest execution, from all pages of its answer; undefined where no worker answers. */
export async function queryApprovals(client: Client, runId: string): Promise<RunApprovals | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const pending: ApprovalView[] = [];
    let page: ApprovalsPage | undefined;
    let isSame = true;
    do {
      const before: number | undefined = page?.total;
      page = await queryRun<ApprovalsPage>(client, runId, QUERIES.approvals, { from: pending.length });
      if (page === undefined) return undefined;
      pending.push(...page.pending);
      // What is decided meanwhile moves up the rest: a page of another list would leave something out.
      isSame = before === undefined || before === page.total;
    } while (isSame && page.pending.length > 0 && pending.length < page.total);
    const { agentName, status, remembered } = page;
    if (isSame || attempt === ATTEMPTS) return { version: 1, runId, agentName, status, pending, remembered };
  }
}
