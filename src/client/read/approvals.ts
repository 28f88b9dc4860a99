import type { Client } from '@temporalio/client';
import type { ApprovalView, RememberedDecision } from '../../core/domain/approvals.ts';
import type { RunStatus, RunSubject } from '../../core/domain/run.ts';
import { type ApprovalsPage, QUERIES } from '../../core/protocol.ts';
import { queryRun } from './query-run.ts';

/** The pending approvals of a run and of its children, and its remembered decisions. */
export interface RunApprovals {
  version: 1;
  runId: string;
  agentName: string;
  /** For whom and for what the run acts. Approvals of its children have their own. */
  about: RunSubject;
  status: RunStatus;
  /**
   * The pending approvals in the order in which they began to wait, followed by those of the children that the run waits for.
   * Empty once the run has ended.
   */
  pending: ApprovalView[];
  /** Decisions that hold for further calls, until they are revoked. */
  remembered: RememberedDecision[];
}

/** The pending approvals of a run without those of its children. */
export interface OwnApprovals extends RunApprovals {
  /** The children that the run waits for. */
  children?: string[];
}

/** Attempts to read a list that changes while its pages are read. */
const ATTEMPTS = 5;

/** Queries the approvals of the newest execution, page by page; undefined if no worker answers. */
export async function queryApprovals(client: Client, runId: string): Promise<OwnApprovals | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const pending: ApprovalView[] = [];
    let page: ApprovalsPage | undefined;
    let isSame = true;
    do {
      const before: number | undefined = page?.total;
      page = await queryRun<ApprovalsPage>(client, runId, QUERIES.approvals, { from: pending.length });
      if (page === undefined) return undefined;
      pending.push(...page.pending);
      // A decision made meanwhile moves up the rest: the next page of the changed list would leave one out.
      isSame = before === undefined || before === page.total;
    } while (isSame && page.pending.length > 0 && pending.length < page.total);
    const { agentName, about, status, remembered, children } = page;
    if (!isSame && attempt < ATTEMPTS) continue;
    return { version: 1, runId, agentName, about, status, pending, remembered, ...(children === undefined ? {} : { children }) };
  }
}
