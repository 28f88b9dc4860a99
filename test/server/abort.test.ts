import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { openai } from '../../activities/models/index.ts';
import { defineAgent } from '../../src/index.ts';
import { LonghaulPlugin } from '../../worker/index.ts';
import { says } from '../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../fakes/openai-server.ts';
import { Testbed, until } from './testbed.ts';

const agent = defineAgent({ name: 'asker', model: 'fake/model-1' });

test('a provider that never answers sees its connection closed within a second of the cancel', async () => {
  await using testbed = await Testbed.open();
  const silent = await startFakeOpenAI(() => undefined);
  const fake = openai({ baseURL: silent.url, apiKey: 'test' });
  await testbed.work({ agents: [agent], providers: { fake }, heartbeatMs: 60_000 });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => silent.requests.length === 1, 'the request');
  const asked = Date.now();
  await handle.cancel('no patience');
  await silent.requests[0]?.closed;
  expect(Date.now() - asked).toBeLessThan(1_000);
  expect(await handle.result()).toMatchObject({ status: 'cancelled' });
  expect(silent.requests).toHaveLength(1);
  await silent.close();
});

test('where workflow and model call are in different processes, a heartbeat carries the cancel within one interval', async () => {
  await using testbed = await Testbed.open();
  const heartbeatMs = 700;
  const silent = await startFakeOpenAI(() => undefined);
  const plugin = new LonghaulPlugin({ agents: [agent], providers: { fake: openai({ baseURL: silent.url, apiKey: 'test' }) }, heartbeatMs });
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const connection = await NativeConnection.connect({ address: testbed.address });
  const configured = plugin.configureWorker({ connection, taskQueue: testbed.taskQueue, workflowBundle });
  // Without the sink the abort registry hears nothing, as in a process that does not run the workflow.
  const deaf = { longhaul: { cancelRequested: { fn: () => undefined, callDuringReplay: false } } };
  const worker = await Worker.create({ ...configured, sinks: deaf });
  await worker.runUntil(async () => {
    const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => silent.requests.length === 1, 'the request');
    const asked = Date.now();
    await handle.cancel('from afar');
    await silent.requests[0]?.closed;
    // The interval, and what the way there and back takes on a busy machine.
    expect(Date.now() - asked).toBeLessThan(heartbeatMs + 1_000);
    expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: 'from afar' });
  });
  await connection.close();
  await silent.close();
});

test('an aborted call of a worker that shuts down is handed to another worker, not taken for a cancellation', async () => {
  await using testbed = await Testbed.open();
  const fake = await startFakeOpenAI(() => undefined);
  const providers = { fake: openai({ baseURL: fake.url, apiKey: 'test' }) };
  await testbed.work({ agents: [agent], providers, shutdownGraceMs: 100 });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => fake.requests.length === 1, 'the request');
  await testbed.stopWorkers();
  fake.script(says('here now'));
  await testbed.work({ agents: [agent], providers });
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'here now' });
  expect(fake.requests).toHaveLength(2);
  await fake.close();
});
