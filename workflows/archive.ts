import type { ActivityOptions } from '@temporalio/common';
import { CancellationScope, log } from '@temporalio/workflow';
import { activityProblem } from '../src/activity-outcome.ts';
import { ACTIVITIES, type ArchiveEventsInput } from '../src/protocol.ts';
import { ofRun, SCHEDULE_TO_CLOSE } from '../src/calls/activity-call.ts';
import type { LiveRun } from './live-run.ts';
import { begin } from './perform.ts';

/** Hands the events of this execution to the worker's archive, before the run leaves them behind. A failure is logged, and the history still has them. */
export async function archive(run: LiveRun): Promise<void> {
  const { state, snapshot } = run;
  if (!snapshot?.archive || state === undefined) return;
  const range: ArchiveEventsInput = { ...ofRun(run), from: state.firstOffset, through: state.window.through };
  const options: ActivityOptions = {
    summary: `events ${range.from} to ${range.through}`,
    startToCloseTimeout: '5 minutes',
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: snapshot.timing.heartbeatMs * 3,
    retry: { maximumAttempts: 20, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  };
  try {
    await CancellationScope.nonCancellable(() =>
      begin<ArchiveEventsInput, void>({ name: ACTIVITIES.archiveEvents, tier: 'remote', options, input: range }),
    );
  } catch (error) {
    const problem = activityProblem(error);
    log.error(`Events ${range.from} to ${range.through} of run "${run.runId}" are not in the archive`, { ...problem });
  }
}
