import { newExecutionContext } from '../domain/record/execution-context.ts';
import type { Missing } from '../domain/errors/missing.ts';
import { approvalViews } from '../loop/approvals/approval-view.ts';
import { progressOf } from '../loop/state/progress.ts';
import { childrenOf } from '../loop/children/children-of.ts';
import type { ApprovalsPage, ContextPage, StatusView, StepsPage } from '../protocol.ts';
import type { QueriedRun } from './queried-run.ts';
import { shownSession } from './session-views.ts';
import { page } from './pages.ts';
import { runSubject } from './run-subject.ts';
import { isoTime } from '../domain/record/time.ts';

/** Answers the `status` query. */
export function statusView(run: QueriedRun): StatusView {
  const { runId, agentName, executions, inbox, startedAt, state, missing = [] } = run;
  return {
    version: 1,
    runId,
    agentName,
    about: runSubject(agentName, state, run.principal),
    status: state?.status ?? 'running',
    ...progressOf(state),
    ...shownSession(state, Date.now()),
    ...shownChildren(state),
    ...(inbox.hasWaitingChild ? { waitingChildren: [...inbox.waitingChildren] } : {}),
    ...(missing.length === 0 ? {} : { missing: missing.map(shownMissing) }),
    executions,
    queued: inbox.queued,
    startTime: isoTime(startedAt),
  };
}

/** Removes the fields that only the waiting activity needs. */
function shownMissing({ kind, name, known, code, worker, since, until }: Missing): Missing {
  return { kind, name, known, code, ...(worker === undefined ? {} : { worker }), since, until };
}

/** Answers the `approvals` query. */
export function approvalsPage(run: QueriedRun, from: number): ApprovalsPage {
  const { runId, agentName, state } = run;
  const pending = state === undefined ? [] : approvalViews(state);
  return {
    version: 1,
    runId,
    agentName,
    about: runSubject(agentName, state, run.principal),
    status: state?.status ?? 'running',
    from,
    pending: page(pending, from),
    total: pending.length,
    remembered: state?.approvals.remembered ?? [],
    ...shownChildren(state),
  };
}

/** Returns the field of a view with the children of a run. */
export function shownChildren(state: QueriedRun['state']): { children?: string[] } {
  const children = childrenOf(state);
  return children.length === 0 ? {} : { children };
}

/** Answers the `context` query with events of this execution. A page that would begin before them begins with the first. */
export function contextPage(run: QueriedRun, from: number): ContextPage {
  const context = run.state?.context ?? newExecutionContext(run.runId);
  const { executionId, currentStep, state, finalResult, events } = context;
  const firstOffset = run.state?.firstOffset ?? 0;
  const index = Math.max(0, from - firstOffset);
  const paged = page(events, index);
  const next = paged.length === 0 ? events[index] : undefined;
  return {
    version: 1,
    executionId,
    status: run.state?.status ?? 'running',
    currentStep,
    state,
    deps: run.state?.deps ?? run.deps,
    finalResult,
    firstOffset,
    from: Math.max(from, firstOffset),
    events: paged,
    ...(next === undefined ? {} : { nextId: next.id }),
    total: firstOffset + events.length,
  };
}

/** Answers the `steps` query. */
export function stepsPage(run: QueriedRun, from: number): StepsPage {
  const steps = run.state?.steps ?? [];
  const total = run.state?.context.currentStep ?? 0;
  const firstIndex = total - steps.length;
  return { version: 1, firstIndex, from: Math.max(from, firstIndex), steps: page(steps, from - firstIndex), total };
}
