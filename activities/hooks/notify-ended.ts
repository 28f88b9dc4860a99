import { activityInfo } from '@temporalio/activity';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { RunResult, type RunResultFields } from '../../src/core/domain/run/result.ts';
import { type DataView, type NotifyEndedInput, QUERIES } from '../../src/core/protocol.ts';
import { boundedAttempt } from '../attempts/bounded-attempt.ts';
import { queryRun, runIdOf } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The default of `notifyEndedTimeout`, in milliseconds. */
export const DEFAULT_NOTIFY_ENDED_MS = 300_000;

/**
 * Creates the activity that tells the worker's `notifyEnded` that a run has ended. A failed attempt is retried with the
 * same id for `notifyEndedTimeout`.
 */
export function notifyEndedActivity(runtime: ActivityRuntime): (input: NotifyEndedInput) => Promise<void> {
  const { notifyEnded, notifyEndedTimeoutMs = DEFAULT_NOTIFY_ENDED_MS, resourcePool } = runtime;
  return (input) =>
    boundedAttempt(runtime, { totalMs: notifyEndedTimeoutMs, code: 'notification_failed' }, async (signal) => {
      if (notifyEnded === undefined) {
        throw new LonghaulError(
          'notification_failed',
          'This worker has no "notifyEnded", but the run was started by a worker that has one',
        );
      }
      const fields = await queryRun<RunResultFields<unknown> | null>(input, QUERIES.result, null);
      if (fields === null) throw new LonghaulError('notification_failed', `Run "${runIdOf(input)}" does not say how it has ended`);
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      const resources = await resourcePool.use();
      const { agentName, status } = input;
      const notice = { id: endingId(input), runId: runIdOf(input), agentName, status, result: new RunResult(fields) };
      await notifyEnded(notice, { deps: Object.freeze(deps), resources, signal });
    });
}

/**
 * Returns the id of a notice. A run ends once in each execution; if it is reset, or started again under its id, it ends
 * again in another execution.
 */
function endingId(input: NotifyEndedInput): string {
  return `${runIdOf(input)}/${activityInfo().workflowExecution?.runId ?? ''}`;
}
