import { RunChain } from '../../../src/client/executions.ts';
import { type HistoryEvent, runHistory } from '../../../src/history/history-events.ts';
import { activityPoint, executionName, ofTopRun } from '../points/points.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';

/**
 * The number of attempts that the server has given up because their heartbeats stopped (the process was killed, or too busy for
 * heartbeats), by the points of the activities.
 */
export async function attemptsGivenUp({ client: { temporal } }: CrashTestbed, runIds: readonly string[]): Promise<Map<string, number>> {
  const givenUp = new Map<string, number>();
  for (const runId of runIds) {
    for (const { executionId } of await new RunChain(temporal, runId).executions()) {
      const scheduled = new Map<string, string>();
      for await (const event of runHistory(temporal, runId, executionId)) {
        const { activityTaskStartedEventAttributes: started } = event;
        const execution = executionOf(event);
        if (execution !== undefined) scheduled.set(String(event.eventId), ofTopRun(runId, activityPoint('told', execution)).point);
        const told = scheduled.get(String(started?.scheduledEventId));
        if (told !== undefined && started?.lastFailure?.timeoutFailureInfo) givenUp.set(told, Number(started.attempt) - 1);
      }
    }
  }
  return givenUp;
}

/** Names the execution of an activity that an event schedules. */
function executionOf({ activityTaskScheduledEventAttributes: scheduled }: HistoryEvent): string | undefined {
  const data = scheduled?.input?.payloads?.[0]?.data;
  if (!scheduled || !data) return undefined;
  return executionName(scheduled.activityType?.name ?? '', JSON.parse(Buffer.from(data).toString()));
}
