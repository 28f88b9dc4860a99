import { newExecutionContext } from '../domain/execution-context.ts';
import type { RunStatus } from '../domain/run-status.ts';
import type { StepResult } from '../domain/step.ts';
import { noUsage } from '../domain/usage.ts';
import type { ContextPage, StatusView } from '../protocol.ts';
import type { ReadBackRun } from './read-back.ts';

/** The answers of a run's queries, made from its history where no worker answers. */

/** The `status` view. `execution` is Temporal's word for how the workflow stands. */
export function statusFrom(runId: string, execution: { status: string }, { agentName, startedAt, state, result }: ReadBackRun): StatusView {
  return {
    version: 1,
    runId,
    agentName,
    status: result?.status ?? statusOf(execution.status),
    currentStep: state?.context.currentStep ?? 0,
    maxIterations: state?.snapshot.limits.maxIterations ?? 0,
    usage: state?.usage ?? noUsage(),
    toolCallsTotal: state?.toolCallsTotal ?? 0,
    events: state?.window.through ?? 0,
    executions: 1,
    queued: 0,
    startTime: new Date(startedAt).toISOString(),
  };
}

/** The `context` view with all events from `from` on. */
export function contextFrom(runId: string, { state }: ReadBackRun, from: number): ContextPage {
  const context = state?.context ?? newExecutionContext(runId);
  const { executionId, currentStep, finalResult, events } = context;
  return {
    version: 1,
    executionId,
    status: state?.status ?? 'running',
    currentStep,
    state: context.state,
    finalResult,
    firstOffset: 0,
    from,
    events: events.slice(from),
    total: events.length,
  };
}

/** The steps. */
export function stepsFrom({ state }: ReadBackRun): StepResult[] {
  return state?.steps ?? [];
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
