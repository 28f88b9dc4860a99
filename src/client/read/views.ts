import { newExecutionContext } from '../../core/domain/record/execution-context.ts';
import type { RunStatus } from '../../core/domain/run/run-status.ts';
import { approvalViews } from '../../core/loop/approvals/approval-view.ts';
import { progressOf } from '../../core/loop/state/run-progress.ts';
import type { ContextPage, StatusView } from '../../core/protocol.ts';
import type { ReadBackRun } from '../../history/read-back.ts';
import type { RunApprovals } from './run-approvals.ts';

/** The answers of a run's queries, made from its history where no worker answers. */

/** The `status` view. `execution` is Temporal's word for how the workflow stands. */
export function statusFrom(runId: string, execution: { status: string }, newest: ReadBackRun): StatusView {
  const { agentName, startedAt, executions, queued, state } = newest;
  return {
    version: 1,
    runId,
    agentName,
    status: runStatus(execution, newest),
    ...progressOf(state),
    executions,
    queued,
    startTime: new Date(startedAt).toISOString(),
  };
}

/** What waits for a decision. `execution` is Temporal's word for how the workflow stands. */
export function approvalsFrom(runId: string, execution: { status: string }, newest: ReadBackRun): RunApprovals {
  const { agentName, state } = newest;
  const pending = state === undefined ? [] : approvalViews(state);
  return { version: 1, runId, agentName, status: runStatus(execution, newest), pending, remembered: state?.approvals.remembered ?? [] };
}

/** What a run says of itself as long as it goes on; afterwards Temporal knows better. */
function runStatus({ status }: { status: string }, { result, state }: ReadBackRun): RunStatus {
  if (result !== undefined) return result.status;
  const known = statusOf(status);
  return known === 'running' ? (state?.status ?? known) : known;
}

/** The `context` view with all events of the newest execution from `from` on; a page that begins before them begins with them. */
export function contextFrom(runId: string, { state }: ReadBackRun, from: number): ContextPage {
  const context = state?.context ?? newExecutionContext(runId);
  const { executionId, currentStep, finalResult, events } = context;
  const firstOffset = state?.firstOffset ?? 0;
  return {
    version: 1,
    executionId,
    status: state?.status ?? 'running',
    currentStep,
    state: context.state,
    deps: state?.deps ?? {},
    finalResult,
    firstOffset,
    from: Math.max(from, firstOffset),
    events: events.slice(Math.max(0, from - firstOffset)),
    total: firstOffset + events.length,
  };
}

/** The status behind Temporal's word for how a workflow stands. A run that was ended from outside has failed. */
export function statusOf(execution: string): RunStatus {
  switch (execution) {
    case 'COMPLETED':
      return 'completed';
    case 'CANCELLED':
      return 'cancelled';
    case 'FAILED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'error';
    default:
      return 'running';
  }
}
