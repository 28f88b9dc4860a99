import { CancellationScope, condition } from '@temporalio/workflow';
import { childrenOf } from '../../src/core/domain/program/children-of.ts';
import { END_WAIT_MS } from '../../src/core/program/children/follow-child.ts';
import { type ReportEndInput, SIGNALS } from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { cancelRun, signalRun } from './other-runs.ts';

/**
 * Cancels the children that no step waits for any more, because the run ends first, and waits for their ends, for a bounded
 * time: a run was cancelled just before it would have continued as new, for instance.
 */
export async function cancelChildren(run: LiveRun): Promise<void> {
  const left = childrenOf(run.state?.program);
  if (left.length === 0) return;
  await CancellationScope.nonCancellable(() => Promise.all(left.map((runId) => cancelChild(run, runId))));
}

async function cancelChild(run: LiveRun, runId: string): Promise<void> {
  const isTold = await signalRun<ReportEndInput>(runId, SIGNALS.reportEnd, { to: run.runId });
  if (!isTold) return;
  await cancelRun(runId);
  await condition(() => run.inbox.hasChildEnded(runId), END_WAIT_MS);
}
