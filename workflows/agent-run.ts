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
import { cancelRequest } from '../src/core/activity-requests/decision-requests.ts';
import type { RunResultFields } from '../src/core/domain/run/run-result.ts';
import { isTerminal } from '../src/core/domain/run/run-status.ts';
import type { ContinueAsNewState } from '../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../src/core/loop/state/run-state.ts';
import type { CarriedInput, RunInput } from '../src/core/protocol.ts';
import type { LonghaulSinks } from './interceptors/cancel-sink.ts';
import { close } from './run/closing.ts';
import { currentDetails } from './visibility/current-details.ts';
import { executeRun, failed, type RunObserver, type RunStart } from './run/execute-run.ts';
import type { LiveRun } from './run/live-run.ts';
import { scheduleActivity } from './run/schedule-activity.ts';
import { registerMessages } from './run/run-messages.ts';
import { registerQueries } from './run/run-queries.ts';
import { type CheckedStart, checkStart } from './run/run-start.ts';
import { Published, shownStatus } from './visibility/search-attributes.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/**
 * One run of an agent. Registers its handlers, resolves the agent, runs the loop, closes, or continues as new where
 * its history is full. Started by the client, the CLI, the Temporal UI or a Schedule with the same plain JSON.
 * Returns the RunResult without its steps; throws an ApplicationFailure whose details hold it for status `error`, a
 * cancellation for status `cancelled`.
 */
export async function agentRun(rawInput: RunInput | CarriedInput): Promise<RunResultFields> {
  const { workflowId, startTime, continuedFromExecutionRunId } = workflowInfo();
  const isContinued = continuedFromExecutionRunId !== undefined;
  const checked: CheckedStart = checkStart(rawInput, { runId: workflowId, startedAt: startTime.getTime(), isContinued });
  const { run } = checked;
  registerQueries(run);
  registerMessages(run);
  abortOnCancel();
  cancelOnSignal(run);
  if (!checked.ok) return close(failed(run, checked.code, checked.problem));
  const published = new Published(isWaiting(checked.start) || showsOtherwise(checked.start));
  const end = await executeRun(run, checked.start, observer(run, published));
  if (end.type === 'continue') return continueAsNew(end.carry);
  if (run.snapshot !== undefined) published.status(run.snapshot, end.result.status);
  return close(end.result, run.inbox.cancelReason);
}

/** The execution before has shown that the run is paused or waits for a decision. */
function isWaiting(start: RunStart): boolean {
  return start.type === 'carry' && (start.carry.inbox.paused || (start.carry.approvals?.pending.length ?? 0) > 0);
}

/** The execution before has shown another status, and what it was about has passed since: who paused the run has let it go on meanwhile. */
function showsOtherwise({ type }: RunStart): boolean {
  return type === 'carry' && (shownStatus() ?? 'running') !== 'running' && patched('shown-status');
}

/** Makes the run visible in the Temporal UI: search attributes where they change, current details with every record. */
function observer(run: LiveRun, published: Published): RunObserver {
  const details = (state: RunState | undefined): void => setCurrentDetails(currentDetails(state, run));
  return {
    resolved: ({ snapshot }) => published.begun(snapshot),
    recorded: (state) => {
      details(state);
      if (!isTerminal(state.status)) published.show(state);
    },
    noted: details,
    missing: ({ state }) => details(state),
  };
}

/** The server carries the search attributes on by itself, and the memo only as it was at the start. A pinned run may move to the current build here. */
async function continueAsNew(carry: ContinueAsNewState): Promise<never> {
  await condition(allHandlersFinished);
  const next = makeContinueAsNewFunc<typeof agentRun>({
    memo: workflowInfo().memo ?? {},
    ...(carry.snapshot.upgradeOnContinueAsNew ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {}),
  });
  return next({ carry });
}

/** Who signals "cancel" is heard whatever the run does: the loop may be in the middle of a call. */
function cancelOnSignal(run: LiveRun): void {
  const asked = async (): Promise<void> => {
    await condition(() => run.inbox.cancelAsked);
    await scheduleActivity(run, cancelRequest(run.inbox.cancelReason ?? ''));
  };
  // A cancellation by other means ends the wait.
  asked().catch(() => undefined);
}

/** Tells the activities in this worker's process at once; a heartbeat tells those elsewhere. */
function abortOnCancel(): void {
  CancellationScope.current().cancelRequested.catch(() => longhaul.cancelRequested());
}
