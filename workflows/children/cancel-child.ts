import { CancellationScope, condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { childrenOf } from '../../src/core/domain/program/children-of.ts';
import type { ChildOutcome } from '../../src/core/program/interpreter/program-ports.ts';
import { type ReportEndInput, SIGNALS } from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { readEnded } from './child-outcome.ts';
import { signalRun } from './signal-run.ts';

/** The longest wait for the end of a child that was cancelled, or whose end is on its way. */
export const END_WAIT = '1 minute';

/** Cancels a child and waits for its end, for a bounded time. */
export async function cancelChild(
  run: LiveRun,
  runId: string,
  hasEnded: () => boolean,
): Promise<Extract<ChildOutcome, { type: 'cancelled' }>> {
  await requestCancel(runId);
  if (!(await condition(hasEnded, END_WAIT))) return { type: 'cancelled' };
  const read = await readEnded(run, runId);
  return read.type === 'ended' ? { type: 'cancelled', result: read.result } : { type: 'cancelled' };
}

/** Cancels the children that no step waits for any more, because the run ends first. */
export async function cancelChildren(run: LiveRun): Promise<void> {
  const left = childrenOf(run.state?.program);
  if (left.length === 0) return;
  await CancellationScope.nonCancellable(() =>
    Promise.all(
      left.map(async (runId) => {
        const isTold = await signalRun<ReportEndInput>(runId, SIGNALS.reportEnd, { to: run.runId });
        if (!isTold) return;
        await requestCancel(runId);
        await condition(() => run.inbox.hasChildEnded(runId), END_WAIT);
      }),
    ),
  );
}

async function requestCancel(runId: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(runId).cancel();
  } catch {
    // It has ended.
  }
}
