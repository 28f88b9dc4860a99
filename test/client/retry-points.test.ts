import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { HistoryEvent } from '../../src/client/run-history.ts';
import { retryPoints } from '../../src/client/retry-points.ts';
import { ACTIVITIES } from '../../src/protocol.ts';
import { recordedChains } from './recorded-histories.ts';

const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

/** As the summaries of the model calls say it, which people read: `step 2 · model · …`. */
function saidBySummaries(events: readonly HistoryEvent[]): Record<string, number> {
  const said: Record<string, number> = {};
  for (const { activityTaskScheduledEventAttributes: scheduled, userMetadata } of events) {
    if (scheduled?.activityType?.name !== ACTIVITIES.callModel) continue;
    const [, step] = /step (\d+)/.exec(Buffer.from(userMetadata?.summary?.data ?? []).toString()) ?? [];
    if (step !== undefined) said[step] = Number(scheduled.workflowTaskCompletedEventId);
  }
  return said;
}

test('the task that asked for a step is found in every recorded run, whichever execution it is in', async () => {
  let found = 0;
  for (const [name, links] of await recordedChains()) {
    for (const { events, recorded } of links) {
      const points = await retryPoints({ runId: name, executionId: recorded.executionId, converter: CONVERTER }, events);
      const tasks = Object.fromEntries([...points.tasks].map(([step, task]) => [step, Number(task)]));
      expect(tasks, recorded.executionId).toEqual(saidBySummaries(events));
      expect(points.isContinued, recorded.executionId).toBe(recorded.continuedFrom !== undefined);
      found += points.tasks.size;
    }
  }
  expect(found).toBeGreaterThan(50);
});

test('what people sent is found with the task that took it', async () => {
  const [link] = (await recordedChains()).get('decided-in-every-way') ?? [];
  if (link === undefined) throw new Error('There is no such recorded run');
  const { taken } = await retryPoints({ runId: 'r', executionId: 'e', converter: CONVERTER }, link.events);
  const accepted = link.events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  expect(taken.map(({ update }) => update?.updateId)).toEqual(
    accepted.map((event) => event.workflowExecutionUpdateAcceptedEventAttributes?.protocolInstanceId),
  );
  for (const { eventId, update } of taken) expect(update?.acceptedIn.lessThan(eventId)).toBe(true);
});
