import proto from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** The pages whose calls wait for the test, and those that were read. */
interface Reading {
  held: Map<number, PromiseWithResolvers<void>>;
  read: number[];
}

/** An agent whose calls run sequentially. */
function readerOf({ held, read }: Reading): ReturnType<typeof defineAgent> {
  const pages = defineTool({
    name: 'read_page',
    description: 'Reads a page',
    parameters: z.object({ page: z.number() }),
    execute: async ({ page }) => {
      read.push(page);
      await held.get(page)?.promise;
      return `the text of page ${page}`;
    },
  });
  const limits = { steps: 50 };
  return defineAgent({ name: 'reader', model: 'scripted/m', tools: [pages], limits, parallel: false, burst: { seconds: 60 } });
}

/** Without its sinks a burst gets no notifications, as in a process that does not run the workflow. */
const deaf = { fn: () => undefined, callDuringReplay: false };

/** Runs a worker whose bursts get no notifications from the workflows of its process. */
async function withDeafWorker(
  testbed: Testbed,
  options: ConstructorParameters<typeof LonghaulPlugin>[0],
  act: () => Promise<void>,
): Promise<void> {
  const plugin = new LonghaulPlugin({ ...options, heartbeatEvery: 500 });
  const connection = await NativeConnection.connect({ address: testbed.address });
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const configured = plugin.configureWorker({ connection, taskQueue: testbed.taskQueue, workflowBundle });
  const worker = await Worker.create({ ...configured, sinks: { longhaul: { cancelRequested: deaf, interruptRequested: deaf } } });
  await worker.runUntil(act);
  await connection.close();
}

const { PENDING_ACTIVITY_STATE_CANCEL_REQUESTED } = proto.temporal.api.enums.v1.PendingActivityState;

/** Resolves once the burst knows that its run waits for its end: it has sent two heartbeats since the server's answers have said so. */
async function burstIsTold(testbed: Testbed, { runId }: { runId: string }): Promise<void> {
  const seen = new Set<string>();
  await until(async () => {
    const { raw } = await testbed.client.temporal.workflow.getHandle(runId).describe();
    const [pending] = raw.pendingActivities ?? [];
    if (pending?.state === PENDING_ACTIVITY_STATE_CANCEL_REQUESTED) seen.add(JSON.stringify(pending.lastHeartbeatTime));
    return seen.size > 2;
  }, 'two heartbeats after the request');
}

test('an interruption and a cancellation arrive with a heartbeat', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('read_page', { page: 1 }, 'c1'), hang('first'), hang('second')]);
  const reader = readerOf({ held: new Map(), read: [] });
  await withDeafWorker(testbed, { agents: [reader], providers: { scripted } }, async () => {
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
}, 40_000);

test('a message that steers lets no further call of a burst start, and the next request has it', async () => {
  await using testbed = await Testbed.open();
  const first = Promise.withResolvers<void>();
  const reading: Reading = { held: new Map([[1, first]]), read: [] };
  const both = together(callTool('read_page', { page: 1 }, 'c1'), callTool('read_page', { page: 2 }, 'c2'));
  const scripted = scriptedModel([both, say('as you like')]);
  const reader = readerOf(reading);
  await withDeafWorker(testbed, { agents: [reader], providers: { scripted } }, async () => {
    const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => reading.read.length === 1, 'the first call');
    await run.send('rather this', { mode: 'steer' });
    await burstIsTold(testbed, run);
    first.resolve();
    expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'as you like', stepsUsed: 2 });
    expect(reading.read).toEqual([1]);
    expect(JSON.stringify(scripted.requests[1])).toContain('rather this');
    await expectSameFromHistory(testbed, run);
  });
}, 40_000);

test('a pause and a queued message let the call in flight end, and nothing after it', async () => {
  await using testbed = await Testbed.open();
  const first = Promise.withResolvers<void>();
  const reading: Reading = { held: new Map([[1, first]]), read: [] };
  const scripted = scriptedModel([callTool('read_page', { page: 1 }, 'c1'), callTool('read_page', { page: 2 }, 'c2'), say('read')]);
  const reader = readerOf(reading);
  await withDeafWorker(testbed, { agents: [reader], providers: { scripted } }, async () => {
    const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => reading.read.length === 1, 'the first call');
    await run.pause();
    await run.send('and this', { mode: 'queue' });
    await burstIsTold(testbed, run);
    first.resolve();
    await until(async () => (await run.status()).status === 'paused', 'the pause');
    expect({ requests: scripted.requests.length, read: reading.read }).toEqual({ requests: 1, read: [1] });
    const { events } = await run.context();
    expect(events.at(-1)?.content).toMatchObject([{ type: 'tool_result', content: ['the text of page 1'] }]);
    await run.resume();
    expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 3 });
    expect(JSON.stringify(scripted.requests[1])).toContain('and this');
    expect(reading.read).toEqual([1, 2]);
    await expectSameFromHistory(testbed, run);
  });
}, 40_000);
