import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { attemptNumber } from '../../../activities/attempts/attempt.ts';
import { type CallToPark, parkAgain, parkForBatch } from '../../../activities/batch/park-call.ts';
import { WorkerBatches } from '../../../activities/batch/worker-batches.ts';
import { modelActivity } from '../../../activities/model-calls/ask-model.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import { registrationIn } from '../../../src/core/domain/batch.ts';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { COLLECTOR_QUERIES } from '../../../src/core/protocol.ts';
import { activityEnvironment } from '../activity-environment.ts';

const MINUTE_MS = 60_000;
const REQUEST: ModelRequest = { model: 'gpt-5', instructions: [], conversation: [], tools: [], settings: {} };
const SNAPSHOT = { name: 'clerk' } as AgentSnapshot;

/** What the server bills for an attempt: the attempt, its heartbeats, and its signals. */
interface Attempt {
  atMinutes: number;
  actions: number;
  /** The number of the attempt for the worker, which counts those that were made. */
  number: number;
}

/** Lets a call wait for its batch for this many minutes, on a collector that has it from the second attempt on. */
async function attemptsWithin(minutes: number): Promise<{ attempts: Attempt[]; details: unknown }> {
  const client = openai({ apiKey: 'key' });
  const batches = new WorkerBatches({ openai: {} }, { openai: client });
  const attempts: Attempt[] = [];
  let details: unknown;
  for (let attempt = 1, at = 0; at < minutes * MINUTE_MS; attempt += 1) {
    const environment = activityEnvironment({
      batches,
      answers: { [COLLECTOR_QUERIES.calls]: [{ state: 'waiting', since: 0 }] },
      heartbeatDetails: details,
      info: { attempt, retryPolicy: {}, scheduledTimestampMs: Date.now(), currentAttemptScheduledTimestampMs: Date.now() },
    });
    const { runtime, heartbeats, signalled } = environment;
    let number = 0;
    const call = modelActivity<null, never>(async (_, patience) => {
      number = attemptNumber();
      await parkAgain(runtime);
      const asked = { models: [{ name: 'openai/gpt-5', client, request: REQUEST }] };
      await parkForBatch(runtime, { activity: 'callModel', input: {} as never, snapshot: SNAPSHOT, asked, key: patience.call });
      throw new Error('the call was made');
    });
    const failure: unknown = await environment.run(call, null).catch((error: unknown) => error);
    if (!(failure instanceof ApplicationFailure)) throw failure;
    attempts.push({ atMinutes: at / MINUTE_MS, actions: 1 + heartbeats.length + signalled.length, number });
    details = heartbeats.at(-1) ?? details;
    at += Number(failure.nextRetryDelay);
  }
  return { attempts, details };
}

/** Makes one attempt of a call. Returns its result or its failure. */
async function attempted({ heartbeatDetails, recall }: { heartbeatDetails?: object } & Pick<CallToPark, 'recall'>): Promise<{
  outcome: unknown;
  heartbeats: unknown[];
}> {
  const client = openai({ apiKey: 'key' });
  const batches = new WorkerBatches({ openai: {} }, { openai: client });
  const { runtime, heartbeats, run } = activityEnvironment({ batches, heartbeatDetails, info: { retryPolicy: {} } });
  const call = modelActivity<null, unknown>(async (_, { call: key }) => {
    await parkAgain(runtime);
    const asked = { models: [{ name: 'openai/gpt-5', client, request: REQUEST }] };
    const parked = { activity: 'callModel', input: {} as never, snapshot: SNAPSHOT, asked, key } as const;
    return parkForBatch(runtime, { ...parked, ...(recall === undefined ? {} : { recall }) });
  });
  return { outcome: await run(call, null).catch((error: unknown) => error), heartbeats };
}

test('a call that waits for its batch looks again after one minute, then two, up to half an hour, and a little later than others', async () => {
  const { attempts } = await attemptsWithin(180);
  const waits = attempts.slice(1).map(({ atMinutes }, index) => atMinutes - (attempts[index]?.atMinutes ?? 0));
  for (const [index, minutes] of waits.entries()) {
    expect(minutes).toBeGreaterThan(Math.min(30, 2 ** index) - 0.001);
    expect(minutes).toBeLessThan(Math.min(30, 2 ** index * 1.2) + 0.001);
  }
  expect(waits.length).toBeGreaterThan(7);
});

test('it costs at most eight billed actions in its first hour: what the server already has of it is not recorded again', async () => {
  const { attempts } = await attemptsWithin(60);
  expect(attempts.reduce((sum, { actions }) => sum + actions, 0)).toBeLessThanOrEqual(8);
  expect(attempts.slice(1).map(({ actions }) => actions)).toEqual(attempts.slice(1).map(() => 1));
});

test('these attempts do not count, although only the first is recorded', async () => {
  const { attempts, details } = await attemptsWithin(600);
  expect(new Set(attempts.map(({ number }) => number))).toEqual(new Set([1]));
  expect(registrationIn(details)).toMatchObject({ provider: 'openai', first: 1, collector: 0 });
});

test('a call that no collector has answered by its deadline ends its activity: the run makes it at once with another one', async () => {
  const { outcome, heartbeats } = await attempted({
    heartbeatDetails: { batch: { provider: 'openai', since: 0, first: 1, collector: 0 } },
  });
  expect(outcome).toEqual({ type: 'unbatched' });
  expect(heartbeats).toEqual([]);
});

test("a call's heartbeat keeps the recalled memory, and its failure, which is in the history, does not", async () => {
  const recalled = { id: 'm1', text: 'likes tea', note: { entries: 1 } };
  const { outcome, heartbeats } = await attempted({ recall: async () => recalled });
  expect(registrationIn(heartbeats.at(-1))).toMatchObject({ provider: 'openai', recalled });
  const [details] = (outcome as ApplicationFailure).details ?? [];
  expect(registrationIn(details)).toMatchObject({ provider: 'openai', first: 1 });
  expect(JSON.stringify(details)).not.toContain('tea');
});
