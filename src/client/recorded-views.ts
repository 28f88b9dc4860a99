import { LonghaulError } from '../core/domain/errors.ts';
import { newExecutionContext } from '../core/domain/record.ts';
import type { RunStatus } from '../core/domain/run.ts';
import { approvalViews, asOfField, childrenField, runSubject, statusOfRun, unreadField } from '../core/queries/run-views.ts';
import type { RunState } from '../core/kernel/run-state.ts';
import type { ContextPage, StatusView } from '../core/protocol.ts';
import { contextOfRun, type SavedContext } from '../core/saved/saved-context.ts';
import type { ReadBackRun } from '../history/read-run.ts';
import { statusOf } from '../temporal/run-workflow.ts';
import type { OwnApprovals } from './executions.ts';

// The answers to a run's queries, computed from its history if no worker answers.

/** Returns the `status` view. `execution` is Temporal's status of the workflow. */
export function statusFrom(runId: string, execution: { status: string }, newest: ReadBackRun): StatusView {
  return statusOfRun(runId, runStatus(execution, newest), newest);
}

/** Returns the pending approvals and the remembered decisions. `execution` is Temporal's status of the workflow. */
export function approvalsFrom(runId: string, execution: { status: string }, newest: ReadBackRun): OwnApprovals {
  const { agentName, principal, state } = newest;
  const about = runSubject(agentName, state, principal);
  const pending = state === undefined ? [] : approvalViews(state);
  const remembered = state?.approvals.remembered ?? [];
  return { version: 1, runId, agentName, about, status: runStatus(execution, newest), pending, remembered, ...childrenField(state) };
}

/** Returns the run's status while it is running, and Temporal's more accurate status afterwards. */
function runStatus({ status }: { status: string }, { result, state }: ReadBackRun): RunStatus {
  if (result !== undefined) return result.status;
  const known = statusOf(status);
  return known === 'running' ? (state?.status ?? known) : known;
}

/** Returns the `context` view with the events of the newest execution, from `from` or from its first event, whichever is later. */
export function contextFrom(runId: string, { state, burst, unread }: ReadBackRun, from: number): ContextPage {
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
    ...unreadField(unread),
    ...asOfField(burst),
  };
}

/** Returns the context of a run as a document. Throws `invalid_input` for a run without a conversation. */
export function savedContextOf(runId: string, recorded: ReadBackRun): SavedContext {
  const { snapshot, context, limits, ...state } = conversationState(runId, recorded);
  return contextOfRun({
    agent: snapshot,
    window: state.window,
    events: context.events,
    deps: state.deps,
    usage: state.usage,
    toolCallsTotal: state.toolCallsTotal,
    toolCallsNotRun: state.toolCallsNotRun,
    currentStep: context.currentStep,
    maxIterations: limits.steps,
    startedAt: recorded.startedAt,
  });
}

/** Returns the state of an agent's run. Throws `invalid_input` for a program, and for a run whose agent was never resolved. */
export function conversationState(runId: string, { state }: ReadBackRun): RunState {
  if (state === undefined) {
    throw new LonghaulError('invalid_input', `Run "${runId}" has no conversation: no worker has resolved its agent so far`);
  }
  if (state.program === undefined) return state;
  throw new LonghaulError('invalid_input', `Run "${runId}" is the run of a program, which has no conversation: name the run of an agent`);
}
