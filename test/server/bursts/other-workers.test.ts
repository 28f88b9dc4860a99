import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { loopDigest } from '../../../activities/bursts/loop-digest.ts';
import { RecordedBurst } from '../../../src/core/bursts/burst-ports.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';
import { memoryGovernor } from '../../../worker/index.ts';
import { startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const pages = defineTool({
  name: 'read_page',
  description: 'Reads a page',
  parameters: z.object({ page: z.number() }),
  execute: ({ page }) => `page ${page}`,
});

const reader = defineAgent({ name: 'reader', model: 'scripted/m', tools: [pages], burst: { steps: 16, seconds: 60 } });

const SCRIPT: ScriptEntry[] = [...[1, 2, 3].map((page) => callTool('read_page', { page }, `c${page}`)), say('read')];

/** The activities of a run, in their order, and the attempt that has ended each. */
async function activitiesOf(testbed: Testbed, run: { runId: string }): Promise<{ names: string[]; attempts: number[] }> {
  const events = await historyOf(testbed, run.runId);
  return {
    names: events.flatMap(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name ?? []),
    attempts: events.flatMap(({ activityTaskStartedEventAttributes: one }) => one?.attempt ?? []),
  };
}

/** Makes a bundle with the loop of another release than the worker's. */
async function bundleOfAnotherLoop(): Promise<AsyncDisposable & { codePath: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-loop-'));
  const bundle = await readFile(inject('workflowBundlePath'), 'utf8');
  expect(bundle).toContain(loopDigest());
  const codePath = join(folder, 'bundle.js');
  await writeFile(codePath, bundle.replaceAll(loopDigest(), 'another loop'));
  return { codePath, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

test('on a worker with another loop a burst makes no call, and the run makes its calls one by one', async () => {
  await using bundle = await bundleOfAnotherLoop();
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await testbed.work({ agents: [reader], providers: { scripted }, worker: { workflowBundle: { codePath: bundle.codePath } } });
  const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result({ timeout: 20_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 4 });
  expect(scripted.requests).toHaveLength(4);
  const single = ['callModel', 'read_page'];
  // The second burst is tried after one call, and the third would be after two.
  const bursts = ['runBurst', ...single, ...single, 'runBurst', ...single, 'callModel'];
  expect((await activitiesOf(testbed, run)).names).toEqual(['resolveAgent', ...bursts]);
  await expectSameFromHistory(testbed, run);
}, 40_000);

/** Loses the first attempt at the first burst, and leaves these details on the server. */
function leaving(details: unknown): ActivityInterceptorsFactory {
  let isLost = false;
  return ({ info: { activityType } }) => ({
    inbound: {
      execute: async (input, next) => {
        if (activityType !== 'runBurst' || isLost) return next(input);
        isLost = true;
        Context.current().heartbeat(details);
        // The SDK sends it with the failure at the latest.
        await sleep(300);
        throw ApplicationFailure.retryable('The worker is lost');
      },
    },
  });
}

test.each<[what: string, details: unknown]>([
  ['no object', 'nonsense'],
  ['no record', { record: null, attempt: 1 }],
  ['a cut entry', { record: { entries: [[1, 'm1']] }, attempt: 1 }],
  ['an entry without a time', { record: { entries: [['m1', { content: [] }]] }, attempt: 1 }],
  ['an answer without content', { record: { entries: [[1, 'm1', { usage: null }]] }, attempt: 1 }],
  ['an answer without an id', { record: { entries: [[1, 'm1', { content: [], usage: null }]] }, attempt: 1 }],
  [
    'an answer with the time of a result',
    { record: { entries: [[5, 't1/0', { id: 'a', content: [], usage: null }, 1, '0000000a']] }, attempt: 1 },
  ],
  ['an outcome without its answer', { record: { entries: [[1, 'm1', 'model', { type: 'response' }]] }, attempt: 1 }],
])(
  'details of a heartbeat that are not outcomes are not used: %s',
  async (_, details) => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel(SCRIPT);
    const interceptors = { activity: [leaving(details)] };
    await testbed.work({ agents: [reader], providers: { scripted }, worker: { interceptors } });
    const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
    expect(await run.result({ timeout: 20_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 4 });
    expect(await activitiesOf(testbed, run)).toEqual({ names: ['resolveAgent', 'runBurst'], attempts: [1, 2] });
    await expectSameFromHistory(testbed, run);
  },
  40_000,
);

test('stored calls of a burst are not repeated if its next attempt is on a worker with another loop', async () => {
  await using bundle = await bundleOfAnotherLoop();
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT.slice(1));
  const asked = { type: 'tool_call', toolCallId: 'c1', name: 'read_page', arguments: { page: 1 } };
  const answer = { id: '00000000-0000-4000-8000-00000000000a', content: [asked], usage: null };
  const stored = [
    [5, 'm1', answer],
    [6, 't1/0', ['stored'], 1, '0000000a'],
  ];
  const interceptors = { activity: [leaving({ record: { entries: stored }, attempt: 1 })] };
  const worker = { workflowBundle: { codePath: bundle.codePath }, interceptors };
  await testbed.work({ agents: [reader], providers: { scripted }, worker });
  const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result({ timeout: 20_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 4 });
  expect(scripted.requests).toHaveLength(3);
  const single = ['callModel', 'read_page'];
  expect((await activitiesOf(testbed, run)).names).toEqual([
    'resolveAgent',
    'runBurst',
    'runBurst',
    ...single,
    ...single,
    'runBurst',
    'callModel',
  ]);
  expect((await activitiesOf(testbed, run)).attempts.slice(0, 3)).toEqual([1, 2, 1]);
  await expectSameFromHistory(testbed, run);
}, 40_000);

test('a forged outcome that the run does not ask for ends it, named, and no call depends on it', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  const forged = [5, 't7/0', ['forged'], 1, '0000000a'];
  const interceptors = { activity: [leaving({ record: { entries: [forged] }, attempt: 1 })] };
  await testbed.work({ agents: [reader], providers: { scripted }, worker: { interceptors } });
  const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await run.result({ timeout: 20_000 });
  expect(result).toMatchObject({ status: 'error', errorCode: 'internal', stepsUsed: 0 });
  expect(result.error).toContain('tool call 7/0, whose effect is unknown');
  expect(scripted.requests).toHaveLength(0);
  await expectSameFromHistory(testbed, run);
}, 40_000);

test('workers that are told to stop lose no call of a burst: each ends after the calls in flight, and others continue', async () => {
  await using testbed = await Testbed.open();
  const [runs, steps] = [5, 12];
  const pause = (): Promise<void> => sleep(30);
  const model = await startWorkingModel(pause, steps);
  const tools = await startToolServer(pause);
  const environment = {
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: testbed.address,
    TEST_TASK_QUEUE: testbed.taskQueue,
    TEST_MODEL_URL: model.url,
    TEST_TOOL_URL: tools.url,
    TEST_HEARTBEAT_MS: '5000',
    TEST_BURST: JSON.stringify({ steps: 1_000, bytes: 300_000, seconds: 60 }),
  };
  let worker = await startWorkerProcess(environment);
  const started = await Promise.all(
    Array.from({ length: runs }, () => testbed.client.start('worker_agent', { input: 'Work', taskQueue: testbed.taskQueue })),
  );
  for (const part of [0.3, 0.6]) {
    await until(() => model.requests.length >= part * runs * steps, 'the calls before a worker is stopped', 60);
    const next = await startWorkerProcess(environment);
    worker.kill('SIGTERM');
    await once(worker, 'exit');
    expect(worker.exitCode).toBe(0);
    worker = next;
  }
  for (const run of started)
    expect(await run.result({ timeout: 60_000 })).toMatchObject({ status: 'completed', output: 'all done', stepsUsed: steps + 1 });
  // Every call was made once.
  expect(model.requests).toHaveLength(runs * (steps + 1));
  expect(tools.calls).toHaveLength(runs * steps);
  expect(new Set(tools.keys).size).toBe(runs * steps);
  worker.kill('SIGTERM');
  await once(worker, 'exit');
  await model.close();
  await tools.close();
}, 180_000);

test('a call that has to wait for the limit of its provider is left to the run, and any other call takes its permit', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT.slice(2));
  const limits = { scripted: { requestsPerMinute: 8, holdSlotFor: 0 } };
  await testbed.work({ agents: [reader], providers: { scripted }, governor: memoryGovernor(), limits });
  const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result({ timeout: 40_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 2 });
  expect(scripted.requests).toHaveLength(2);
  expect((await activitiesOf(testbed, run)).names).toEqual(['resolveAgent', 'runBurst', 'callModel']);
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('a session in bursts has the turns of one without', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...SCRIPT, callTool('read_page', { page: 4 }, 'c4'), say('once more')]);
  await testbed.work({ agents: [reader], providers: { scripted } });
  const session = testbed.client.session(reader, { id: testbed.taskQueue, taskQueue: testbed.taskQueue });
  expect(await session.ask('first')).toMatchObject({ turn: 1, output: 'read' });
  expect(await session.ask('second')).toMatchObject({ turn: 2, output: 'once more' });
  const { names } = await activitiesOf(testbed, { runId: testbed.taskQueue });
  expect(names.filter((name) => name === 'callModel' || name === 'read_page')).toEqual([]);
  expect(names.filter((name) => name === 'runBurst')).toHaveLength(2);
  await session.close();
  await expectSameFromHistory(testbed, { runId: testbed.taskQueue });
}, 40_000);

test('no part of the loops of 200 ended bursts stays in memory', async () => {
  await using testbed = await Testbed.open();
  const single = defineAgent({ name: 'reader', model: 'looped/m', tools: [pages], burst: { steps: 1 }, limits: { steps: 50 } });
  const looped = scriptedModel([]);
  let asked = 0;
  const client: typeof looped = {
    ...looped,
    call: async () => {
      asked += 1;
      const toolCalls = asked % 41 === 0 ? [] : [{ id: `c${asked}`, name: 'read_page', arguments: { page: asked } }];
      return { content: 'read', toolCalls, usage: null, finishReason: toolCalls.length === 0 ? 'stop' : 'tool_calls' };
    },
  };
  await testbed.work({ agents: [single], providers: { looped: client } });
  const runOnce = async (): Promise<void> => {
    const run = await testbed.client.start(single, { input: 'Q', taskQueue: testbed.taskQueue });
    expect(await run.result({ timeout: 60_000 })).toMatchObject({ status: 'completed' });
  };
  await runOnce();
  const alive = (): number[] => [Inbox, RecordedBurst].map((of) => queryObjects(of, { format: 'count' }));
  const before = alive();
  for (let run = 0; run < 5; run += 1) await runOnce();
  expect(asked).toBe(6 * 41);
  // Each burst has made two inboxes, and most of them have waited forever.
  for (const [index, count] of alive().entries()) expect(count).toBeLessThanOrEqual((before[index] ?? 0) + 20);
}, 120_000);
