import { CancellationScope, condition } from '@temporalio/workflow';
import { readChildRequest } from '../../src/core/activity-requests/child-requests.ts';
import { childrenOf } from '../../src/core/loop/children/children-of.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import { countsOf } from '../../src/core/loop/endings/close-run.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { spendChild } from '../../src/core/loop/state/child-spending.ts';
import type { ReadChild } from '../../src/core/children/child-effects.ts';
import { END_WAIT_MS } from '../../src/core/children/follow-child.ts';
import { type ReportEndInput, SIGNALS } from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { scheduleActivity } from '../run/schedule-activity.ts';
import { interruptTurn } from './kept-sessions.ts';
import { cancelRun, signalRun } from './other-runs.ts';

/**
 * Cancels the children that no step waits for any more, because the run ends first, and waits for their ends, for a bounded
 * time: the run could not be carried into its next execution, for instance. Returns the result of the run with their usage.
 */
export async function cancelChildren(run: LiveRun, result: RunResultFields): Promise<RunResultFields> {
  const { state } = run;
  if (state === undefined || childrenOf(state).length === 0) return result;
  await endChildren(run, state);
  return { ...result, ...countsOf(state) };
}

/** Cancels the children that are left, waits for their ends for a bounded time, and counts what they have used. */
export async function endChildren(run: LiveRun, state: RunState): Promise<void> {
  const left = childrenOf(state);
  if (left.length === 0) return;
  const ends = await CancellationScope.nonCancellable(() =>
    Promise.all(left.map((runId) => cancelChild(run, runId, turnOf(state, runId)))),
  );
  for (const end of ends) if (end.type === 'ended') spendChild(state, end.result);
}

/** Returns the turn that is waited for, of a session that the run keeps. */
function turnOf({ children = [] }: RunState, runId: string): number | undefined {
  return children.find((child) => child.runId === runId)?.turn;
}

async function cancelChild(run: LiveRun, runId: string, turn: number | undefined): Promise<ReadChild> {
  if (turn !== undefined) {
    await interruptTurn(runId, turn);
    const hasEnded = await condition(() => run.inbox.hasChildEnded(runId), END_WAIT_MS);
    return hasEnded ? scheduleActivity(run, readChildRequest({ runId, turn })) : { type: 'running' };
  }
  const isTold = await signalRun<ReportEndInput>(runId, SIGNALS.reportEnd, { to: run.runId });
  if (isTold) {
    await cancelRun(runId);
    const hasEnded = await condition(() => run.inbox.hasChildEnded(runId), END_WAIT_MS);
    if (!hasEnded) return { type: 'running' };
  }
  return scheduleActivity(run, readChildRequest({ runId }));
}
