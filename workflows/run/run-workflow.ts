import {
  allHandlersFinished,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  patched,
  proxySinks,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import { cancelRequest } from '../../src/core/activity-requests/decision-requests.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { isTerminal } from '../../src/core/domain/run/status.ts';
import type { ContinueAsNewState } from '../../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import type { LonghaulSinks } from '../interceptors/worker-sinks.ts';
import { reportEnd, tellsWaiting, watchParent } from '../children/parent-link.ts';
import { parentOfStart } from '../../src/core/first-start.ts';
import { pauseChildren } from '../children/pause-children.ts';
import { Announcer } from './announcer.ts';
import { close } from './closing.ts';
import { currentDetails } from '../visibility/current-details.ts';
import { executeRun, failedResult, type RunObserver, type RunStart } from './execute-run.ts';
import type { LiveRun } from './live-run.ts';
import { scheduleActivity } from './schedule-activity.ts';
import { registerMessages } from './messages.ts';
import { registerQueries } from './queries.ts';
import { type CheckedStart, checkStart, type ReadInput } from './start.ts';
import { publishTitle } from '../visibility/title-memo.ts';
import { SearchAttributePublisher, publishedStatus } from '../visibility/search-attributes.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/**
 * Runs a workflow of Longhaul: registers the handlers, resolves the definition, interprets it, and closes, or continues
 * as new when its history is full. `readInput` checks the input of a first execution.
 */
export async function runWorkflow(rawInput: unknown, readInput: ReadInput): Promise<RunResultFields> {
  const { workflowId, startTime, continuedFromExecutionRunId } = workflowInfo();
  const isContinued = continuedFromExecutionRunId !== undefined;
  const checked: CheckedStart = checkStart(rawInput, { runId: workflowId, startedAt: startTime.getTime(), isContinued }, readInput);
  const { run } = checked;
  registerQueries(run);
  registerMessages(run);
  abortOnCancel();
  cancelOnSignal(run);
  const announcer = new Announcer(run);
  if (!checked.ok) {
    const refused = failedResult(run, checked.code, checked.problem);
    await reportEnd(run);
    announcer.announce(refused.status);
    return close(refused);
  }
  const { start } = checked;
  pauseChildren(run);
  watchParent(run, start.type === 'carry' ? run.state?.parent : parentOfStart(start, run.startedAt));
  const searchAttributes = isAsleep(start)
    ? new SearchAttributePublisher(false, 'idle')
    : new SearchAttributePublisher(wasWaiting(start) || hasStaleStatus(start));
  const end = await executeRun(run, start, observer(run, searchAttributes, announcer));
  if (end.type === 'continue') return continueAsNew(end.carry);
  if (run.snapshot !== undefined) searchAttributes.publishStatus(run.snapshot, end.result.agentName, end.result.status);
  await reportEnd(run);
  announcer.announce(end.result.status);
  return close(end.result, run.inbox.cancelReason);
}

/** True if the previous execution ended with the session idle, as the search attributes then show. */
function isAsleep(start: RunStart): boolean {
  return start.type === 'carry' && start.position.type === 'idle';
}

/** True if the previous execution ended with the run paused or waiting for a decision, of its own or of a child. */
function wasWaiting(start: RunStart): boolean {
  if (start.type !== 'carry') return false;
  const { inbox, approvals } = start.carry;
  const { paused, pausedAbove = false, waitingChildren = [] } = inbox;
  return paused || pausedAbove || waitingChildren.length > 0 || (approvals?.pending.length ?? 0) > 0;
}

/**
 * True if the search attributes still show another status than `running`: the run was paused, for instance, and has
 * been resumed since.
 */
function hasStaleStatus({ type }: RunStart): boolean {
  return type === 'carry' && (publishedStatus() ?? 'running') !== 'running' && patched('shown-status');
}

/**
 * Makes the run visible in the Temporal UI: search attributes when they change, current details with every record. Announces the record
 * to readers.
 */
function observer(run: LiveRun, searchAttributes: SearchAttributePublisher, announcer: Announcer): RunObserver {
  const tellParent = tellsWaiting(run);
  const details = (state: RunState | undefined): void => setCurrentDetails(currentDetails(state, run));
  return {
    resolved: ({ snapshot }) => searchAttributes.publishStart(snapshot),
    recorded: (state) => {
      details(state);
      publishTitle(state);
      if (!isTerminal(state.status)) searchAttributes.publishChanges(state, run.inbox.waitingChildren);
      tellParent(state);
      announcer.announce();
    },
    noted: (state) => {
      details(state);
      announcer.announce();
    },
    missing: ({ state }) => details(state),
  };
}

/**
 * Continues as new. The server carries over the search attributes by itself, but the memo only as it was at the start.
 * A pinned run may move to the current build here.
 */
async function continueAsNew(carry: ContinueAsNewState): Promise<never> {
  await condition(allHandlersFinished);
  const next = makeContinueAsNewFunc<(input: { carry: ContinueAsNewState }) => Promise<RunResultFields>>({
    memo: workflowInfo().memo ?? {},
    ...(carry.snapshot.upgradeOnContinueAsNew ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {}),
  });
  return next({ carry });
}

/** Handles the signal "cancel" at any time: the loop may be in the middle of a call. */
function cancelOnSignal(run: LiveRun): void {
  const requestCancel = async (): Promise<void> => {
    await condition(() => run.inbox.cancelAsked);
    await scheduleActivity(run, cancelRequest(run.inbox.cancelReason ?? ''));
  };
  // Another cancellation of the run ends the wait.
  requestCancel().catch(() => undefined);
}

/** Aborts the activities in this worker's process at once; others learn of the cancellation by heartbeat. */
function abortOnCancel(): void {
  CancellationScope.current().cancelRequested.catch(() => longhaul.cancelRequested());
}
