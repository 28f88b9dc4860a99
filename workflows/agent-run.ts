import {
  allHandlersFinished,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  proxySinks,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunResultFields } from '../src/domain/run-result.ts';
import type { RunStatus } from '../src/domain/run-status.ts';
import type { RunCarry } from '../src/loop/run-carry.ts';
import type { CarriedInput, RunInput } from '../src/protocol.ts';
import type { LonghaulSinks } from './cancel-sink.ts';
import { close } from './closing.ts';
import { currentDetails } from './current-details.ts';
import { executeRun, failed, type RunObserver } from './execute-run.ts';
import type { LiveRun } from './live-run.ts';
import { registerMessages } from './run-messages.ts';
import { registerQueries } from './run-queries.ts';
import { type CheckedStart, checkStart } from './run-start.ts';
import { publishStatus } from './search-attributes.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/**
 * One run of an agent. Registers its handlers, resolves the agent, runs the loop, closes, or continues as new where
 * its history is full. Started by the client, the CLI, the Temporal UI or a Schedule with the same plain JSON.
 * Returns the RunResult without its steps; throws an ApplicationFailure whose details hold it for status `error`, a
 * cancellation for status `cancelled`.
 */
export async function agentRun(rawInput: RunInput | CarriedInput): Promise<RunResultFields> {
  const { workflowId, startTime } = workflowInfo();
  const checked: CheckedStart = checkStart(rawInput, { runId: workflowId, startedAt: startTime.getTime() });
  const { run } = checked;
  registerQueries(run);
  registerMessages(run);
  abortOnCancel();
  if (!checked.ok) return close(failed(run, checked.code, checked.problem));
  const end = await executeRun(run, checked.start, observer(run));
  if (end.type === 'continue') return continueAsNew(end.carry);
  if (run.snapshot !== undefined) publishStatus(run.snapshot, end.result.status);
  return close(end.result, run.inbox.cancelReason);
}

/** Makes the run visible in the Temporal UI: search attributes where the status changes, current details with every record. */
function observer(run: LiveRun): RunObserver {
  // What the execution before has published of a paused run is not known.
  let published: RunStatus | undefined = run.inbox.paused ? undefined : 'running';
  return {
    resolved: ({ snapshot }) => publishStatus(snapshot, 'running'),
    recorded: (state) => {
      setCurrentDetails(currentDetails(state));
      const { status } = state;
      if (status === published || (status !== 'running' && status !== 'paused')) return;
      published = status;
      publishStatus(state.snapshot, status);
    },
  };
}

/** The server carries the search attributes on by itself, and the memo only as it was at the start. A pinned run may move to the current build here. */
async function continueAsNew(carry: RunCarry): Promise<never> {
  await condition(allHandlersFinished);
  const next = makeContinueAsNewFunc<typeof agentRun>({
    memo: workflowInfo().memo ?? {},
    ...(carry.snapshot.upgradeOnContinueAsNew ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {}),
  });
  return next({ carry });
}

/** Tells the activities in this worker's process at once; a heartbeat tells those elsewhere. */
function abortOnCancel(): void {
  CancellationScope.current().cancelRequested.catch(() => longhaul.cancelRequested());
}
