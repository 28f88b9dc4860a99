import { describe, expect, test } from 'vitest';
import { type BatchedCall, batchedCallKey, type CallPlace, type CollectorInput } from '../../../src/core/domain/batch.ts';
import { BATCH_COLLECTOR, COLLECTOR_QUERIES, COLLECTOR_SIGNALS, collectorId } from '../../../src/core/protocol.ts';
import { runHistory } from '../../../src/history/history-events.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { plainPayload, RawCaller, rawPayload } from '../limits/raw-payloads.ts';
import { historyOf, until } from '../testbed/testbed.ts';
import { begun, plain, posted, type Scene } from './batch-scene.ts';

/** Returns what a collector was started with, and the calls that have registered with it. */
async function registeredWith({ testbed }: Scene, collector: string): Promise<{ input: CollectorInput; calls: BatchedCall[] }> {
  const read = (data: Uint8Array | null | undefined): unknown => JSON.parse(Buffer.from(data ?? []).toString());
  let input: unknown;
  const calls: unknown[] = [];
  for await (const event of runHistory(testbed.client.temporal, collector)) {
    const { workflowExecutionStartedEventAttributes: started, workflowExecutionSignaledEventAttributes: signaled } = event;
    if (started) input = read(started.input?.payloads?.[0]?.data);
    if (signaled) calls.push(read(signaled.input?.payloads?.[0]?.data));
  }
  return { input: input as CollectorInput, calls: calls as BatchedCall[] };
}

async function registered(run: RunHandle<unknown>): Promise<void> {
  await until(async () => (await run.status()).running?.[0]?.waitsForBatch !== undefined, 'the call is registered');
}

test('a request that has become another one than its call has registered is not posted, and the same one is', async () => {
  await using scene = await begun({}, { window: '1h' });
  const { testbed, api } = scene;
  const run = await scene.start(plain, 'Q');
  await registered(run);
  const { input, calls } = await registeredWith(scene, collectorId('openai', 0, testbed.taskQueue));
  const [call] = calls;
  if (call === undefined) throw new TypeError('no call has registered');
  const register = async (number: number, digest: string): Promise<string> => {
    const workflowId = collectorId('openai', number, testbed.taskQueue);
    await testbed.client.temporal.workflow.signalWithStart(BATCH_COLLECTOR, {
      workflowId,
      taskQueue: testbed.taskQueue,
      args: [{ ...input, policy: { ...input.policy, windowMs: 50 } }],
      signal: COLLECTOR_SIGNALS.register,
      signalArgs: [{ ...call, digest }],
    });
    return workflowId;
  };
  const other = testbed.client.temporal.workflow.getHandle(await register(1, call.digest.toLowerCase()));
  const placeIn = async (): Promise<CallPlace[]> => other.query<CallPlace[], [string[]]>(COLLECTOR_QUERIES.calls, [batchedCallKey(call)]);
  // The collector leaves it out: the next attempt of the call registers the request that it then makes.
  await until(async () => (await placeIn())[0]?.state === 'unknown', 'the call is left out');
  // Of the account, a collector may have asked which batches it has; nothing was uploaded or posted.
  expect(api.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
  await register(2, call.digest);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'answer to Q' });
  expect(api.batches.map(({ lines }) => lines.length)).toEqual([1]);
  await testbed.client.temporal.workflow.getHandle(collectorId('openai', 0, testbed.taskQueue)).terminate();
});

/** More events than a collector has in one execution. */
const MANY = 4_100;
const AT_ONCE = 100;

test('a collector continues as new with the calls that wait, and follows the batches that are posted', async () => {
  await using scene = await begun({ delayMs: 3_600_000 }, { window: '1h', most: 2 });
  const { testbed, api } = scene;
  const [first, second] = [await scene.start(plain, 'a'), await scene.start(plain, 'b')];
  await posted(scene);
  const third = await scene.start(plain, 'c');
  await registered(third);
  const collector = testbed.client.temporal.workflow.getHandle(collectorId('openai', 0, testbed.taskQueue));
  const { calls } = await registeredWith(scene, collector.workflowId);
  const keys = calls.map(batchedCallKey);
  const places = (): Promise<CallPlace[]> => collector.query<CallPlace[], [string[]]>(COLLECTOR_QUERIES.calls, keys);
  await until(
    async () => (await places()).every((place) => place.state === 'waiting' || ('id' in place && place.id !== undefined)),
    'the batch has its id',
  );
  const before = await places();
  expect(before.map(({ state }) => state)).toEqual(['in_batch', 'in_batch', 'waiting']);
  const { runId } = await collector.describe();
  // Anybody can send it something that is not a call: it is ignored, and in its history.
  for (let sent = 0; sent < MANY; sent += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => collector.signal(COLLECTOR_SIGNALS.register, {})));
  await until(async () => (await collector.describe()).runId !== runId, 'the collector has continued as new', 60);
  expect(await places()).toEqual(before);

  // One more call fills the next batch, and both are followed to their ends.
  const fourth = await scene.start(plain, 'd');
  await posted(scene, 2);
  api.options.delayMs = 0;
  const results = await Promise.all([first, second, third, fourth].map((run) => run.result()));
  expect(results.map(({ output }) => output)).toEqual(['answer to a', 'answer to b', 'answer to c', 'answer to d']);
  expect(api.batches.map(({ lines }) => lines.length)).toEqual([2, 2]);
  expect([...api.paid.values()]).toEqual([1, 1, 1, 1]);
}, 180_000);

describe('a collector that gets something else than a call', () => {
  /** Signals that are no calls. The last one is too large to be passed on with others. */
  const OTHERS: Record<string, object> = {
    'tags that are not a list': { tags: 5 },
    'tags that are null': { tags: null },
    'a model that is not a text': { model: 7 },
    'more bytes than a reference has': { model: 'm'.repeat(1_300_000) },
  };

  test('ignores it, and collects calls', async () => {
    await using scene = await begun({}, { window: '1h' });
    const { testbed } = scene;
    const run = await scene.start(plain, 'Q');
    await registered(run);
    const { input, calls } = await registeredWith(scene, collectorId('openai', 0, testbed.taskQueue));
    const [call] = calls;
    if (call === undefined) throw new TypeError('no call has registered');
    const collector = testbed.client.temporal.workflow.getHandle(collectorId('openai', 0, testbed.taskQueue));
    for (const [index, other] of Object.values(OTHERS).entries())
      await collector.signal(COLLECTOR_SIGNALS.register, { ...call, activityId: `other ${index}`, ...other });
    const raw = new RawCaller(testbed, testbed.client);
    await raw.signal(collector.workflowId, COLLECTOR_SIGNALS.register, rawPayload('json/plain', '{"workflowId":'));
    await collector.signal(COLLECTOR_SIGNALS.register, { ...call, activityId: 'next', tries: 'none', spent: 5 });
    const keys = ['next', 'other 0', 'other 3', call.activityId].map((activityId) => batchedCallKey({ ...call, activityId }));
    expect(await collector.query<CallPlace[], [string[]]>(COLLECTOR_QUERIES.calls, keys)).toMatchObject([
      { state: 'waiting' },
      { state: 'unknown', isFull: false },
      { state: 'unknown', isFull: false },
      { state: 'waiting' },
    ]);
    const events = await historyOf(testbed, collector.workflowId);
    expect(events.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    expect(input.provider).toBe('openai');
    await collector.terminate();
    await run.cancel('enough');
  });

  test.each([
    ['of another form', plainPayload({ provider: 'openai' })],
    ['that cannot be read', rawPayload('json/plain', '{"provider":')],
  ])('ends if its input is one %s, so that the next call can start another one', async (_, input) => {
    await using scene = await begun({}, { window: '1h' });
    const raw = new RawCaller(scene.testbed, scene.testbed.client);
    const workflowId = await raw.start({ input: [input], workflowType: BATCH_COLLECTOR });
    const { temporal } = scene.testbed.client;
    await expect(temporal.workflow.getHandle(workflowId).result()).rejects.toMatchObject({
      cause: { type: 'invalid_input', message: expect.stringContaining('A collector of batches is started by calls') },
    });
  });
});
