import { ApplicationFailure } from '@temporalio/common';
import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  makeContinueAsNewFunc,
  proxySinks,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { closingResult } from '../src/core/closing-result.ts';
import { cancelRequest } from '../src/core/activity-requests/decision-requests.ts';
import type { RunResultFields } from '../src/core/domain/result.ts';
import { isTerminal, type RunStatus } from '../src/core/domain/run.ts';
import { parentOfStart } from '../src/core/first-start.ts';
import type { ContinueAsNewState } from '../src/core/kernel/continue-as-new.ts';
import type { RunState } from '../src/core/kernel/run-state.ts';
import { type ContinuedInput, type ProgramInput, RESULT_MEMO, type RunInput } from '../src/core/protocol.ts';
import { waitsOf } from '../src/core/queries/run-views.ts';
import { pauseChildren, notifyOfEnd, tellsWaiting, watchParent } from './run/children.ts';
import {
  type CheckedStart,
  checkStart,
  executeRun,
  executionOrigin,
  failedResult,
  type ReadInput,
  readProgramInput,
  readRunInput,
  reasonOfCancellation,
  reportRefused,
  type RunObserver,
  type RunStart,
} from './run/execute-run.ts';
import { registerMessages, registerQueries } from './run/handlers.ts';
import type { LiveRun, LonghaulSinks } from './run/live-run.ts';
import { scheduleActivity } from './run/schedule-activity.ts';
import {
  currentDetails,
  hasWaitingChildren,
  publishedStatus,
  publishStarted,
  publishTitle,
  SearchAttributePublisher,
} from './visibility.ts';
import { parentOf } from '../src/core/domain/run-input.ts';

/**
 * Runs an agent. The client, the CLI, the Temporal UI and Schedules start it with the same JSON. Returns the RunResult
 * without its steps; throws an ApplicationFailure whose details hold it for status `error`, and a cancellation for
 * status `cancelled`.
 */
export async function agentRun(rawInput: RunInput | ContinuedInput): Promise<RunResultFields> {
  return runWorkflow(rawInput, readRunInput);
}

/**
 * Runs a program: by its name on the worker, or as a document in the input. It closes in the same way as
 * the run of an agent, with the results of its units.
 */
export async function programRun(rawInput: ProgramInput | ContinuedInput): Promise<RunResultFields> {
  return runWorkflow(rawInput, readProgramInput);
}

export { batchCollector } from './batch-collector.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/**
 * Runs a workflow of Longhaul: registers the handlers, resolves the definition, interprets it, and closes, or continues
 * as new when its history is full. `readInput` checks the input of a first execution.
 */
async function runWorkflow(rawInput: unknown, readInput: ReadInput): Promise<RunResultFields> {
  const { workflowId, startTime } = workflowInfo();
  const checked: CheckedStart = checkStart(
    rawInput,
    { runId: workflowId, startedAt: startTime.getTime(), origin: executionOrigin() },
    readInput,
  );
  const { run } = checked;
  registerQueries(run);
  registerMessages(run);
  abortOnCancel();
  cancelOnSignal(run);
  const announcer = new Announcer(run);
  if (!checked.ok) {
    const refused = failedResult(run, checked.code, checked.problem);
    await notifyOfEnd(run);
    reportRefused(run, refused);
    announcer.announce(refused.status);
    return closeWorkflow(refused);
  }
  const { start } = checked;
  pauseChildren(run);
  watchParent(run, start.type === 'continued' ? parentOf(run.state ?? {}) : parentOfStart(start, run.startedAt));
  const searchAttributes = isAsleep(start)
    ? new SearchAttributePublisher(false, 'idle')
    : new SearchAttributePublisher(wasWaiting(start) || hasStaleStatus(start));
  const end = await executeRun(run, start, runObserver(run, searchAttributes, announcer));
  if (end.type === 'continue') return continueAsNew(end.continuedState);
  if (run.snapshot !== undefined) searchAttributes.publishStatus(run.snapshot, end.result.agentName, end.result.status);
  await notifyOfEnd(run);
  announcer.announce(end.result.status);
  return closeWorkflow(end.result, reasonOfCancellation(run));
}

/** True if the previous execution ended with the session idle, as the search attributes then show. */
function isAsleep(start: RunStart): boolean {
  return start.type === 'continued' && start.position.type === 'idle';
}

/** True if the previous execution ended with the run paused or waiting for a decision, its decision or one of a child. */
function wasWaiting(start: RunStart): boolean {
  if (start.type !== 'continued') return false;
  const { inbox, approvals } = start.continuedState;
  const { paused, pausedWithOther = false } = inbox;
  return paused || pausedWithOther || hasWaitingChildren(inbox) || approvals.pending.length > 0;
}

/**
 * True if the search attributes still show another status than `running`: the run was paused, for example, and has
 * been resumed since.
 */
function hasStaleStatus({ type }: RunStart): boolean {
  return type === 'continued' && (publishedStatus() ?? 'running') !== 'running';
}

/**
 * Makes the run visible in the Temporal UI: search attributes when they change, current details with every record. Announces the record
 * to readers.
 */
function runObserver(run: LiveRun, searchAttributes: SearchAttributePublisher, announcer: Announcer): RunObserver {
  const tellParent = tellsWaiting(run);
  const details = (state: RunState | undefined): void => setCurrentDetails(currentDetails(state, run));
  return {
    resolved: ({ snapshot }) => searchAttributes.publishStart(snapshot),
    recorded: (state) => {
      details(state);
      publishTitle(state);
      if (!isTerminal(state.status)) searchAttributes.publishChanges(state, run.inbox);
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
async function continueAsNew(continuedState: ContinueAsNewState): Promise<never> {
  await condition(allHandlersFinished);
  publishStarted(continuedState.snapshot);
  const next = makeContinueAsNewFunc<(input: { continuedState: ContinueAsNewState }) => Promise<RunResultFields>>({
    memo: workflowInfo().memo ?? {},
    ...(continuedState.snapshot.upgradeOnContinueAsNew ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {}),
  });
  return next({ continuedState });
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

/**
 * Notifies the worker process, for the run's readers, of news: events, steps or another status. Adds
 * nothing to the history.
 */
class Announcer {
  readonly #run: LiveRun;
  #events = -1;
  #steps = -1;
  #status: RunStatus | undefined;
  /** The pending decisions. */
  #waits = NOTHING_WAITS;

  constructor(run: LiveRun) {
    this.#run = run;
  }

  /** Announces the changes since the last call. `ended`: the final status of the run. */
  announce(ended?: RunStatus): void {
    const { state, inbox } = this.#run;
    const events = state === undefined ? 0 : state.firstOffset + state.context.events.length;
    // The record of a program has no steps.
    const steps = state?.program === undefined ? (state?.context.currentStep ?? 0) : 0;
    const status = ended ?? state?.status ?? 'running';
    const waits = status === 'pending_confirmation' && state !== undefined ? waitsOf(state, inbox) : NOTHING_WAITS;
    const waitsAnew = waits !== NOTHING_WAITS && waits !== this.#waits;
    this.#waits = waits;
    if (events === this.#events && steps === this.#steps && status === this.#status && !waitsAnew) return;
    [this.#events, this.#steps, this.#status] = [events, steps, status];
    longhaul.recorded({ events, steps, status }, waitsAnew);
  }
}

const NOTHING_WAITS = '';

/**
 * Closes the run: `completed`, `max_iterations_reached` and `limit_reached` return and close as Completed, `error` throws and closes as
 * Failed, `cancelled` throws and closes as Canceled. The result, without its steps, can be read with no worker running:
 * from the return value, the details of the failure, or the memo. `reason` is the reason of a cancellation.
 */
function closeWorkflow(result: RunResultFields, reason?: string): RunResultFields {
  const closing = closingResult(result);
  switch (closing.status) {
    case 'completed':
    case 'max_iterations_reached':
    case 'limit_reached':
      return closing;
    case 'error': {
      const failure = ApplicationFailure.create({
        type: closing.errorCode ?? 'internal',
        message: closing.error ?? 'The run failed',
        nonRetryable: true,
        details: [closing],
      });
      // A stack would name files on the worker's machine, and say nothing about the run.
      failure.stack = '';
      throw failure;
    }
    case 'cancelled': {
      const cancelled = reason === undefined ? closing : { ...closing, cancelReason: reason };
      upsertMemo({ [RESULT_MEMO]: cancelled });
      throw new CancelledFailure(reason ?? 'The run was cancelled');
    }
  }
}
