import { defaultFailureConverter, defaultPayloadConverter, type LoadedDataConverter, toPayloads } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { Checkpoint } from '../../src/core/bursts/burst.ts';
import { ExecutionReader } from '../../src/history/execution-reader.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { burstCallsOf } from '../../src/history/recorded-trace.ts';
import { readBack } from '../../src/history/read-run.ts';
import { activitiesNamed } from '../../src/history/recorded-execution.ts';
import { recordedChains } from './recorded-histories.ts';

const CONVERTER: LoadedDataConverter = {
  payloadConverter: defaultPayloadConverter,
  failureConverter: defaultFailureConverter,
  payloadCodecs: [],
};

const INPUT = { agent: 'd', through: 1, lastEventId: 'e1', seed: 's' };

/** What the first attempt at the burst has stored, before its worker was lost. */
const STORED: Checkpoint = {
  record: { entries: [[100, 'm1', { id: 'e2', content: [], finishReason: 'stop', usage: null }]], attempts: { m1: 2 } },
  attempt: 1,
  seed: 's',
};

const payloads = (value: unknown): object => ({ payloads: toPayloads(defaultPayloadConverter, value) });
const at = (seconds: number): object => ({ eventTime: { seconds, nanos: 0 } });

/** Returns the calls that the history of a burst shows which the server has ended so, without the start of an attempt. */
async function callsOf(end: object): Promise<object[]> {
  const reader = new ExecutionReader('execution', CONVERTER);
  const scheduled = { activityId: '1', activityType: { name: 'runBurst' }, input: payloads(INPUT), retryPolicy: { maximumAttempts: 3 } };
  await reader.read({ eventId: 5, ...at(10), activityTaskScheduledEventAttributes: scheduled } as unknown as HistoryEvent);
  await reader.read({ eventId: 6, ...at(20), ...end } as unknown as HistoryEvent);
  const { endedAttempts = [] } = reader.execution;
  const checkpoints = [{ input: {}, scheduledIn: 1, task: 1, output: STORED }] as never;
  const parts = { checkpoints, modelCalls: new Map([['m1', INPUT]]), toolCalls: new Map() };
  return endedAttempts.flatMap((one) => burstCallsOf(one, parts, () => ({ name: 'clerk', model: 'openai/a' }))).map(({ traced }) => traced);
}

const MODEL_CALL = { call: '1', agent: 'clerk', model: 'openai/a', activity: '1', attempt: 2, from: 10_000, to: 10_100 };

test('the calls of a burst that was cancelled between two attempts are those that the run has looked up', async () => {
  expect(await callsOf({ activityTaskCanceledEventAttributes: { scheduledEventId: 5 } })).toMatchObject([MODEL_CALL]);
});

test('the calls of a burst that timed out between two attempts are in its failure', async () => {
  const failure = {
    message: 'activity ScheduleToClose timeout',
    timeoutFailureInfo: { timeoutType: 3, lastHeartbeatDetails: payloads({ ...STORED, seed: 'other' }) },
  };
  const timedOut = { scheduledEventId: 5, failure };
  expect(await callsOf({ activityTaskTimedOutEventAttributes: timedOut })).toMatchObject([MODEL_CALL]);
});

test('another activity that was cancelled between two attempts has not ended as a call', async () => {
  const reader = new ExecutionReader('execution', CONVERTER);
  const scheduled = { activityId: '1', activityType: { name: 'read' }, input: payloads({ callId: 'c1' }) };
  await reader.read({ eventId: 5, ...at(10), activityTaskScheduledEventAttributes: scheduled } as unknown as HistoryEvent);
  const cancelled = { scheduledEventId: 5 };
  await reader.read({ eventId: 6, ...at(20), activityTaskCanceledEventAttributes: cancelled } as unknown as HistoryEvent);
  expect(reader.execution.endedAttempts ?? []).toEqual([]);
});

test('the reader keeps the names of calls of recorded bursts, by their keys', async () => {
  const chains = [...(await recordedChains())].filter(([, links]) =>
    links.some(({ recorded }) => activitiesNamed(recorded, 'runBurst').length > 0),
  );
  const runs = await Promise.all(
    chains.flatMap(([runId, links]) =>
      links.map(({ recorded }, index) => readBack(runId, recorded, links[index + 1]?.recorded.continuedState)),
    ),
  );
  const tools = runs.flatMap(({ toolCalls }) => [...toolCalls.values()]);
  expect(tools.length).toBeGreaterThan(0);
  const names = new Set(['agentName', 'at', 'callId', 'ofProgram', 'step']);
  expect(tools.flatMap(({ input }) => Object.keys(input).filter((name) => !names.has(name)))).toEqual([]);
  const models = runs.flatMap(({ modelCalls }) => [...modelCalls]);
  expect(models.filter(([key, { through }]) => key !== `m${through}`)).toEqual([]);
});
