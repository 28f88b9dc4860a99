import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../src/client/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const workflowsPath = fileURLToPath(new URL('../testbed/host-workflows.ts', import.meta.url));

test('a team adds agents to its existing worker and client', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), say('done'), say('facts'), say('text')]);
  const researcher = defineAgent({ name: 'researcher', model: 'scripted/r' });
  const writer = defineAgent({ name: 'writer', model: 'scripted/w' });
  const plugin = new LonghaulPlugin({ agents: [assistant, researcher, writer], providers: { scripted } });
  const connection = await NativeConnection.connect({ address: testbed.address });
  const greet = (name: string): Promise<string> => Promise.resolve(`hello ${name}`);
  const worker = await Worker.create({
    connection,
    taskQueue: testbed.taskQueue,
    workflowsPath,
    activities: { greet },
    plugins: [plugin],
  });
  await worker.runUntil(async () => {
    const clientConnection = await Connection.connect({ address: testbed.address });
    const client = new LonghaulClient(new Client({ connection: clientConnection, plugins: [plugin] }), { taskQueue: testbed.taskQueue });
    expect(await client.run(assistant, { input: 'Q' })).toMatchObject({ status: 'completed', output: 'done' });
    const report = await client.temporal.workflow.execute('report', {
      args: ['x'],
      taskQueue: testbed.taskQueue,
      workflowId: testbed.taskQueue,
    });
    expect(report).toMatchObject({ text: 'text' });
    await client.close();
  });
  await connection.close();
});

test('a prebuilt bundle with the plugin runs agents and keeps the reason of a cancellation', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang()]);
  const plugin = new LonghaulPlugin({ agents: [assistant], providers: { scripted } });
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: testbed.address });
  const worker = await Worker.create({ connection, taskQueue: testbed.taskQueue, workflowBundle, plugins: [plugin] });
  await worker.runUntil(async () => {
    const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => scripted.requests.length === 1, 'the model call');
    await handle.cancel('from the bundle');
    expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: 'from the bundle' });
  });
  await connection.close();
});

test('creating a worker fails if a tool has the name of an existing activity', async () => {
  const plugin = new LonghaulPlugin({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  expect(() => plugin.configureWorker({ taskQueue: 'q', activities: { search: () => undefined } })).toThrow('"search"');
});
