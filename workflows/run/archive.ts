import type { ActivityOptions } from '@temporalio/common';
import { CancellationScope, log } from '@temporalio/workflow';
import { archiveFailure } from '../../src/core/activity-requests/activity-outcome.ts';
import { eventsText } from '../../src/core/domain/record/not-archived.ts';
import { beginArchiving, endArchiving } from '../../src/core/loop/state/archiving.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { ACTIVITIES, type ArchiveEventsInput } from '../../src/core/protocol.ts';
import { runReference, RETRY_LOST, SCHEDULE_TO_CLOSE } from '../../src/core/activity-requests/activity-request.ts';
import type { LiveRun } from './live-run.ts';
import { startActivity } from './schedule-activity.ts';

/**
 * Hands the events of this execution to the worker's archive before the run continues or ends. The activity bounds the
 * time that a failing archive may delay the run: after that the run goes on, and records which events are not archived.
 */
export async function archive(run: LiveRun, noted: (state: RunState) => void): Promise<void> {
  const { state, snapshot } = run;
  if (!snapshot?.archive || state === undefined) return;
  const range = { from: state.firstOffset, through: state.window.through };
  beginArchiving(state, range, Date.now());
  noted(state);
  const input: ArchiveEventsInput = { ...runReference(run), ...range };
  const options: ActivityOptions = {
    summary: `events ${range.from} to ${range.through}`,
    startToCloseTimeout: '5 minutes',
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: snapshot.timing.heartbeatMs * 3,
    retry: RETRY_LOST,
  };
  let failure: string | undefined;
  try {
    await CancellationScope.nonCancellable(() =>
      startActivity<ArchiveEventsInput, void>({ name: ACTIVITIES.archiveEvents, tier: 'remote', options, input }),
    );
  } catch (error) {
    failure = archiveFailure(error);
    log.error(`Not in the archive: ${eventsText(range)} of run "${run.runId}": ${failure}`);
  }
  endArchiving(state, failure);
  noted(state);
}
