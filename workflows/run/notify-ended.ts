import { CancellationScope, log } from '@temporalio/workflow';
import { endedRequest } from '../../src/core/activity-requests/ended-request.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { noteNotifyEndedFailure } from '../../src/core/loop/endings/close-run.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { cancelReason } from '../interceptors/cancellation.ts';
import type { LiveRun } from './live-run.ts';
import { scheduleActivity } from './schedule-activity.ts';

/**
 * Calls the worker's `notifyEnded`, if it has one, as the last action of a run. The activity bounds the time that a
 * failing hook may delay the run. The run ends with the same result in any case.
 */
export async function notifyEnded(run: LiveRun, result: RunResultFields, noted: (state: RunState) => void): Promise<void> {
  if (!run.notifiesEnd && !run.snapshot?.notifyEnded) return;
  run.result = withoutSteps(result, run.inbox.cancelReason);
  const outcome = await CancellationScope.nonCancellable(() => scheduleActivity(run, endedRequest(run, result)));
  if (outcome.type !== 'failed') return;
  log.error(`The notice that run "${run.runId}" has ended could not be delivered: ${outcome.message}`);
  if (run.state === undefined) return;
  noteNotifyEndedFailure(run.state, outcome.message);
  noted(run.state);
}

/** Returns the closing result with its whole output. */
function withoutSteps({ steps: _, ...result }: RunResultFields, announced: string | undefined): RunResultFields {
  const reason = result.status === 'cancelled' ? (cancelReason() ?? announced) : undefined;
  return reason === undefined ? result : { ...result, cancelReason: reason };
}
