import { condition } from '@temporalio/workflow';
import { isGone, readChildRequest } from '../../src/core/activity-requests/child-requests.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../../src/core/domain/run/parent-run.ts';
import type { ChildCall, ChildOutcome } from '../../src/core/program/interpreter/program-ports.ts';
import type { LiveRun } from '../run/live-run.ts';
import { scheduleActivity } from '../run/schedule-activity.ts';
import { cancelChild } from './cancel-child.ts';
import { readEnded } from './child-outcome.ts';

/**
 * Waits for a child that an earlier execution has started: it reports its end by a signal, and an activity reads its
 * result once. A child that was terminated cannot report, so from time to time an activity checks that it is alive.
 */
export async function awaitEarlierChild(
  run: LiveRun,
  { runId, seenAt: before, isLeft }: ChildCall,
  isCancelled: () => boolean,
): Promise<ChildOutcome> {
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = run.snapshot?.timing ?? {};
  const hasReported = (): boolean => run.inbox.hasChildEnded(runId);
  let seenAt = before;
  for (;;) {
    const isOver = (): boolean => hasReported() || isCancelled() || isLeft();
    const left = seenAt + childCheckMs - Date.now();
    if (!isOver() && left > 0) await condition(isOver, left);
    if (hasReported()) return readEnded(run, runId);
    if (isCancelled()) return cancelChild(run, runId, hasReported);
    if (isLeft()) return { type: 'left', seenAt };
    const read = await scheduleActivity(run, readChildRequest({ runId, ifEnded: true, whole: true }));
    if (read.type === 'ended' || (read.type === 'failed' && isGone(read))) return read;
    seenAt = Date.now();
  }
}
