import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { retriedStep, type RetryPoints, retryPoints } from '../../src/client/retry-run.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { recordedChains } from '../history/recorded-histories.ts';

const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

/** The summaries of the model calls, as people read them: `step 2 · model · …`. */
function saidBySummaries(events: readonly HistoryEvent[]): Record<string, number> {
  const said: Record<string, number> = {};
  for (const { activityTaskScheduledEventAttributes: scheduled, userMetadata } of events) {
    if (scheduled?.activityType?.name !== ACTIVITIES.callModel) continue;
    const [, step] = /step (\d+)/.exec(Buffer.from(userMetadata?.summary?.data ?? []).toString()) ?? [];
    if (step !== undefined) said[step] = Number(scheduled.workflowTaskCompletedEventId);
  }
  return said;
}

test('the task that scheduled a step is found in every recorded run, in any execution', async () => {
  let found = 0;
  for (const [name, links] of await recordedChains()) {
    for (const { events, recorded } of links) {
      const points = await retryPoints({ runId: name, executionId: recorded.executionId, converter: CONVERTER }, events);
      const tasks = Object.fromEntries([...points.tasks].map(([step, task]) => [step, Number(task)]));
      const { executionId, continuedFrom } = recorded;
      expect({ executionId, tasks }).toEqual({ executionId, tasks: saidBySummaries(events) });
      expect(points.isContinued).toBe(continuedFrom !== undefined);
      found += points.tasks.size;
    }
  }
  expect(found).toBeGreaterThan(50);
});

async function pointsOf(name: string, execution = 1): Promise<RetryPoints> {
  const link = (await recordedChains()).get(name)?.[execution - 1];
  if (link === undefined) throw new Error(`There is no recorded run "${name}"`);
  return retryPoints({ runId: name, executionId: name, converter: CONVERTER }, link.events);
}

test('a run is retried from the last step that it scheduled, unless another is named', async () => {
  const points = await pointsOf('completed-with-tools-in-sequence');
  const steps = [...points.tasks.keys()];
  expect(retriedStep('r', points, {})).toEqual({ fromStep: steps.at(-1), task: points.tasks.get(steps.at(-1) ?? 0) });
  expect(retriedStep('r', points, { fromStep: 1 })).toEqual({ fromStep: 1, task: points.tasks.get(1) });
});

test('a run that never called the model begins again', async () => {
  const points = await pointsOf('failed-with-an-unknown-agent');
  expect(retriedStep('r', points, {})).toEqual({ fromStep: 1, task: points.firstTask });
});

test('a step that does not exist is refused with the existing steps', async () => {
  const short = await pointsOf('failed-in-a-model-call');
  expect(() => retriedStep('r', short, { fromStep: 9 })).toThrow(
    /^Run "r" cannot be retried from there: it has no step 9\. Retry it from (a step from 1 to \d|step 1)$/,
  );
  const later = await pointsOf('continued-after-every-step', 3);
  expect(() => retriedStep('r', later, { fromStep: 1 })).toThrow('step 1 is in an earlier execution');
});

test('a run is refused that no worker had begun, or that would end at its deadline', async () => {
  const unbegun = await retryPoints({ runId: 'r', executionId: 'e', converter: CONVERTER }, []);
  expect(() => retriedStep('r', unbegun, {})).toThrow('it ended before a worker had begun it');
  const late = await pointsOf('stopped-by-its-deadline-among-calls');
  expect(() => retriedStep('r', late, {})).toThrow(/^Run "r" cannot be retried: its deadline was 20[-\dT:.]+Z, and it would end at once/);
});

test('requests of callers are found with the task that accepted them', async () => {
  const [link] = (await recordedChains()).get('decided-in-every-way') ?? [];
  if (link === undefined) throw new Error('There is no such recorded run');
  const { accepted: requests } = await retryPoints({ runId: 'r', executionId: 'e', converter: CONVERTER }, link.events);
  const accepted = link.events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  expect(requests.map(({ update }) => update?.updateId)).toEqual(
    accepted.map((event) => event.workflowExecutionUpdateAcceptedEventAttributes?.protocolInstanceId),
  );
  for (const { eventId, update } of requests) expect(update?.acceptedIn.lessThan(eventId)).toBe(true);
});
