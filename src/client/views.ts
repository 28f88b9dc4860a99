import { newExecutionContext } from '../domain/execution-context.ts';
import type { RunStatus } from '../domain/run-status.ts';
import { noUsage } from '../domain/usage.ts';
import type { ContextPage, StatusView } from '../protocol.ts';
import type { ReadBackRun } from './read-back.ts';

/** The answers of a run's queries, made from its history where no worker answers. */

/** The `status` view. `execution` is Temporal's word for how the workflow stands. */
export function statusFrom(runId: string, execution: { status: string }, newest: ReadBackRun): StatusView {
  const { agentName, startedAt, executions, queued, state } = newest;
  return {
    version: 1,
    runId,
    agentName,
    status: runStatus(execution, newest),
    currentStep: state?.context.currentStep ?? 0,
    maxIterations: state?.snapshot.limits.maxIterations ?? 0,
    usage: state?.usage ?? noUsage(),
    toolCallsTotal: state?.toolCallsTotal ?? 0,
    events: state?.window.through ?? 0,
    executions,
    queued,
    startTime: new Date(startedAt).toISOString(),
  };
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
