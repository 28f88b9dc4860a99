import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { queryApprovals } from '../../client/executions.ts';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { findExecution, hasEndedAs } from '../../temporal/run-workflow.ts';
import { isAwaited } from '../harness/harness.ts';

/** A run and the children that it waits for, while nothing of them is in progress: only a decision, a message or time can change something. */
export interface QuietTree {
  /** Their ids, each with its position in its history. */
  readonly positions: ReadonlyMap<string, string>;
  /** The pending decisions, of which only those of children name their run, as in memory. */
  readonly pending: readonly ApprovalView[];
}

/**
 * Returns the run with its children if nothing of them is in progress, and undefined otherwise. The server tells it: in the record, a call
 * that has ended may have no result yet.
 */
export async function quietTree(client: Client, rootId: string): Promise<QuietTree | undefined> {
  const positions = new Map<string, string>();
  const pending: ApprovalView[] = [];
  const add = async (runId: string): Promise<boolean> => {
    const position = await quietPosition(client, runId);
    const approvals = position === undefined ? undefined : await queryApprovals(client, runId);
    if (position === undefined || approvals === undefined) return false;
    const { about, children = [] } = approvals;
    positions.set(runId, position);
    pending.push(...approvals.pending.map((waiting) => (runId === rootId ? waiting : { about, ...waiting, runId })));
    for (const child of children) if (!(await add(child))) return false;
    return true;
  };
  return (await add(rootId)) && (await isStillQuiet(client, positions)) ? { positions, pending } : undefined;
}

/** True if nothing has happened since then. */
async function isStillQuiet(client: Client, positions: ReadonlyMap<string, string>): Promise<boolean> {
  for (const [runId, position] of positions) if ((await quietPosition(client, runId)) !== position) return false;
  return true;
}

/** Returns the position of a run in its history if nothing of it is in progress. */
async function quietPosition(client: Client, runId: string): Promise<string | undefined> {
  const execution = await findExecution(client, runId);
  if (execution === undefined || hasEndedAs(execution.status.name) || isBusy(execution)) return undefined;
  return `${execution.runId} ${execution.historyLength}`;
}

/** The server's state of an activity that waits for its next attempt: `PENDING_ACTIVITY_STATE_SCHEDULED`. */
const SCHEDULED = 1;

function isBusy({ raw: { pendingActivities, pendingWorkflowTask } }: WorkflowExecutionDescription): boolean {
  if (pendingWorkflowTask) return true;
  return (pendingActivities ?? []).some(({ activityType, attempt, state }) => {
    const isBetweenAttempts = state === SCHEDULED && (attempt ?? 1) > 1;
    return !isBetweenAttempts || isAwaited(activityType?.name ?? '');
  });
}
