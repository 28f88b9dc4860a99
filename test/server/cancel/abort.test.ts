import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent } from '../../../src/index.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { says } from '../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const agent = defineAgent({ name: 'asker', model: 'fake/model-1' });

/** Without its sinks the abort registry receives nothing, as in a process that does not run the workflow. */
const deaf = { fn: () => undefined, callDuringReplay: false };

test('if a provider never answers, its connection is closed by the cancellation, without a heartbeat', async () => {
  await using testbed = await Testbed.open();
  const silent = await startFakeOpenAI(() => undefined);
  const fake = openai({ baseURL: silent.url, apiKey: 'test' });
  await testbed.work({ agents: [agent], providers: { fake }, heartbeatEvery: 60_000 });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => silent.requests.length === 1, 'the request');
  await handle.cancel('no patience');
  await silent.requests[0]?.closed;
  expect(await handle.result()).toMatchObject({ status: 'cancelled' });
  expect(silent.requests).toHaveLength(1);
  await silent.close();
});

test('a message that interrupts closes the connection at once, and the next request contains the message', async () => {
  await using testbed = await Testbed.open();
  const fake = await startFakeOpenAI(() => undefined);
  await testbed.work({ agents: [agent], providers: { fake: openai({ baseURL: fake.url, apiKey: 'test' }) }, heartbeatEvery: 60_000 });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => fake.requests.length === 1, 'the request');
  fake.script(says('as you like'));
  await handle.send('rather this', { mode: 'interrupt' });
  await fake.requests[0]?.closed;
  expect(await handle.result({ timeout: 10_000 })).toMatchObject({ status: 'completed', output: 'as you like', stepsUsed: 1 });
  expect(fake.requests[1]?.text).toContain('rather this');
  // No output had arrived, but the request had been sent: it counts.
  const { events } = await handle.context();
  expect(events[1]).toMatchObject({ interrupted: true, content: [], usage: null });
  expect(events[1]?.estimated?.promptTokens).toBeGreaterThan(0);
  await fake.close();
});

test('if workflow and model call are in different processes, an interruption and a cancellation arrive with a heartbeat', async () => {
  await using testbed = await Testbed.open();
  const silent = await startFakeOpenAI(() => undefined);
  const plugin = new LonghaulPlugin({
    agents: [agent],
    providers: { fake: openai({ baseURL: silent.url, apiKey: 'test' }) },
    heartbeatEvery: 700,
  });
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const connection = await NativeConnection.connect({ address: testbed.address });
  const configured = plugin.configureWorker({ connection, taskQueue: testbed.taskQueue, workflowBundle });
  const worker = await Worker.create({ ...configured, sinks: { longhaul: { cancelRequested: deaf, interruptRequested: deaf } } });
  await worker.runUntil(async () => {
    const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => silent.requests.length === 1, 'the request');
    await handle.send('rather this', { mode: 'interrupt' });
    await silent.requests[0]?.closed;
    await until(() => silent.requests.length === 2, 'the request that has the message');
    await handle.cancel('from afar');
    await silent.requests[1]?.closed;
    expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: 'from afar' });
    // Neither call had to miss its heartbeats first, so that the server gave it up.
    const events = await historyOf(testbed, handle);
    expect(events.filter(({ activityTaskTimedOutEventAttributes: given }) => given)).toEqual([]);
    expect(events.filter(({ activityTaskStartedEventAttributes: started }) => started?.lastFailure)).toEqual([]);
  });
  await connection.close();
  await silent.close();
});

test('a call aborted by the shutdown of its worker is handed to another worker, and is not taken for a cancellation', async () => {
  await using testbed = await Testbed.open();
  const fake = await startFakeOpenAI(() => undefined);
  const providers = { fake: openai({ baseURL: fake.url, apiKey: 'test' }) };
  await testbed.work({ agents: [agent], providers, shutdownGrace: 100 });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => fake.requests.length === 1, 'the request');
  await testbed.stopWorkers();
  fake.script(says('here now'));
  await testbed.work({ agents: [agent], providers });
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'here now' });
  expect(fake.requests).toHaveLength(2);
  await fake.close();
});
