import type { ActivityOptions } from '@temporalio/common';
import { notifyFailure } from './activity-outcome.ts';
import type { RunResultFields } from '../domain/run/result.ts';
import { summaryText } from '../domain/content/summary-text.ts';
import type { NotifyOutcome } from '../loop/ports.ts';
import { ACTIVITIES, type NotifyEndedInput } from '../protocol.ts';
import { type ActivityRequest, runReference, RETRY_LOST, SCHEDULE_TO_CLOSE, HEARTBEAT_TIMEOUT } from './activity-request.ts';

const NOTIFY_ENDED: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: RETRY_LOST,
};

/** Calls the worker's `notifyEnded` hook. The result is not in the input, so that the history holds it once, in the closing event. */
export function endedRequest(
  run: { key?: string },
  { agentName, status }: Pick<RunResultFields, 'agentName' | 'status'>,
): ActivityRequest<NotifyEndedInput, void, NotifyOutcome> {
  return {
    name: ACTIVITIES.notifyEnded,
    tier: 'remote',
    options: { ...NOTIFY_ENDED, summary: summaryText(`tells that the run has ended: ${status}`) },
    input: { ...runReference(run), agentName, status },
    returned: () => ({ type: 'notified' }),
    failed: notifyFailure,
  };
}
