import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, hang, scriptedModel } from '../../../src/testing/index.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const pages = defineTool({
  name: 'read_page',
  description: 'Reads a page',
  parameters: z.object({ page: z.number() }),
  execute: ({ page }) => `the text of page ${page}`,
});
const reader = defineAgent({ name: 'reader', model: 'scripted/m', tools: [pages], limits: { steps: 50 }, burst: true });

/** Without its sinks a burst learns of nothing, as in a process that does not run the workflow. */
const deaf = { fn: () => undefined, callDuringReplay: false };

test('if workflow and burst are in different processes, an interruption and a cancellation arrive with a heartbeat', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('read_page', { page: 1 }, 'c1'), hang('first'), hang('second')]);
  const plugin = new LonghaulPlugin({ agents: [reader], providers: { scripted }, heartbeatEvery: 500 });
  const connection = await NativeConnection.connect({ address: testbed.address });
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const configured = plugin.configureWorker({ connection, taskQueue: testbed.taskQueue, workflowBundle });
  const worker = await Worker.create({ ...configured, sinks: { longhaul: { cancelRequested: deaf, interruptRequested: deaf } } });
  await worker.runUntil(async () => {
    const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => scripted.requests.length === 2, 'the model call');
    await run.send('rather this', { mode: 'interrupt' });
    await until(() => scripted.requests.length === 3, 'the request that has the message');
    expect(JSON.stringify(scripted.requests[2])).toContain('rather this');
    await run.cancel('from afar');
    expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'cancelled', output: 'second', cancelReason: 'from afar' });
    const { events } = await run.context();
    expect(events.filter(({ interrupted }) => interrupted)).toHaveLength(2);
    await expectSameFromHistory(testbed, run);
  });
  await connection.close();
}, 40_000);
