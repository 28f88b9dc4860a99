import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { assistant, broken, search } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

/** So low that a run continues as new after every step. */
const EVERY_STEP = { events: 8 };

const SCRIPT: ScriptEntry[] = [
  together(say('first'), callTool('search', { query: 'one' }, 'c1'), callTool('broken', {}, 'c2')),
  together(say('second'), callTool('search', { query: 'two' }, 'c3'), callTool('nope', {}, 'c4')),
  callTool('search', { query: 'three' }, 'c5'),
  say('done'),
];

interface Told {
  requests: readonly ModelRequest[];
  result: object;
  executions: number;
}

async function tell(continueAsNew?: Partial<Record<'events' | 'bytes' | 'updates', number>>, transcriptCacheSize?: number): Promise<Told> {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await testbed.work({
    agents: [assistant],
    providers: { scripted },
    ...(continueAsNew === undefined ? {} : { continueAsNew }),
    ...(transcriptCacheSize === undefined ? {} : { transcriptCacheSize }),
  });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, deps: { user: 1 } });
  const { runId: _, startTime: __, endTime: ___, durationSeconds: ____, ...result } = await run.result();
  return { requests: scripted.requests, result, executions: (await run.status()).executions };
}

test('a run that continues as new after every step sends the same requests to the model, and has the same result', async () => {
  const whole = await tell();
  const split = await tell(EVERY_STEP);
  expect(whole.executions).toBe(1);
  expect(split.executions).toBeGreaterThanOrEqual(4);
  expect(JSON.stringify(split.requests)).toBe(JSON.stringify(whole.requests));
  expect(split.result).toEqual(whole.result);
});

test('a worker with a cold cache queries the next execution for the window, and sends the same requests', async () => {
  const [whole, cold] = [await tell(), await tell(EVERY_STEP, 1)];
  expect(JSON.stringify(cold.requests)).toBe(JSON.stringify(whole.requests));
});

test('sequential calls that do not fit into one execution are started in the next, each of them once', async () => {
  await using testbed = await Testbed.open();
  const sequential = defineAgent({ name: 'sequential', model: 'scripted/m', tools: [search, broken], parallel: false });
  const calls = Array.from({ length: 6 }, (_, index) => callTool('search', { query: `q${index}` }, `c${index}`));
  const [first = say(''), ...others] = calls;
  const scripted = scriptedModel([together(first, ...others), say('done')]);
  await testbed.work({ agents: [sequential], providers: { scripted }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(sequential, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', stepsUsed: 2, toolCallsTotal: 6 });
  expect((await run.status()).executions).toBeGreaterThanOrEqual(3);
  const results = scripted.requests[1]?.conversation.at(-1)?.content;
  expect(results).toMatchObject(calls.map((_, index) => ({ toolCallId: `c${index}`, content: [`found: q${index}`] })));
});

test('a paused run continues as new while it waits, and continues when it is resumed', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('done')], { repeatLast: true });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  // The message is sent before a worker starts: the run is paused before its first step.
  const paused = run.pause();
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { updates: 5 } });
  expect(await paused).toEqual({ version: 1, paused: true });
  const names = Array.from({ length: 12 }, (_, index) => `message ${index}`);
  for (const name of names) await run.send(name, { id: name });
  expect(await run.status()).toMatchObject({ status: 'paused', executions: 3, currentStep: 0 });
  expect(scripted.requests).toHaveLength(0);
  await run.resume();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const read = scripted.requests[0]?.conversation.flatMap(({ content }) => content) ?? [];
  expect(read).toEqual(['Q', ...names].map((content) => ({ type: 'message', role: 'user', content })));
});

test('memo, search attributes, start time and a cancellation reach the newest execution', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'one' }), callTool('search', { query: 'two' }), hang('half an answer')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: EVERY_STEP });
  const { workflow } = testbed.client.temporal;
  const runId = `${testbed.taskQueue}-run`;
  const first = await workflow.start('agentRun', {
    args: [{ agent: 'assistant', input: 'Q' }],
    workflowId: runId,
    taskQueue: testbed.taskQueue,
    memo: { ticket: 42 },
  });
  const run = testbed.client.handle(runId);
  await until(() => scripted.requests.length === 3, 'the model is asked in a later execution');
  const newest = await workflow.getHandle(runId).describe();
  expect(newest.runId).not.toBe(first.firstExecutionRunId);
  expect(newest.memo).toMatchObject({ ticket: 42 });
  expect(newest.typedSearchAttributes.getAll()).toEqual(
    expect.arrayContaining([expect.objectContaining({ value: 'assistant' }), expect.objectContaining({ value: 'running' })]),
  );
  const oldest = await workflow.getHandle(runId, first.firstExecutionRunId).describe();
  expect((await run.status()).startTime.slice(0, 19)).toBe(oldest.startTime.toISOString().slice(0, 19));
  const listed = await Array.fromAsync(testbed.client.list({ query: `TaskQueue = '${testbed.taskQueue}'` }));
  expect(listed).toMatchObject([{ runId, agentName: 'assistant', status: 'running' }]);
  expect(await run.cancel('enough')).toBe('requested');
  expect(await run.result()).toMatchObject({
    status: 'cancelled',
    cancelReason: 'enough',
    stepsUsed: 2,
    startTime: (await run.status()).startTime,
  });
});

test('a carried state of an unknown version fails the workflow task, and a worker that knows the version takes the run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  const { workflow } = testbed.client.temporal;
  await workflow.start('handOn', { args: [{ version: 99 }], workflowId: testbed.taskQueue, taskQueue: testbed.taskQueue });
  const failures = async (): Promise<string[]> => {
    const events = await historyOf(testbed, testbed.taskQueue);
    return events.flatMap((event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? []);
  };
  await until(async () => (await failures()).length > 0, 'the task fails');
  expect(await failures()).toEqual([expect.stringContaining('has version 99, and this code reads version 1')]);
  expect((await workflow.getHandle(testbed.taskQueue).describe()).status.name).toBe('RUNNING');
  await workflow.getHandle(testbed.taskQueue).terminate('the test has ended');
});

test('a cancellation ends the run at any moment of continuing as new', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'again' })], { repeatLast: true });
  const restless = defineAgent({ name: 'restless', model: 'scripted/m', tools: [search], limits: { steps: 1_000 } });
  await testbed.work({ agents: [restless], providers: { scripted }, continueAsNew: EVERY_STEP });
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const run = await testbed.client.start(restless, { input: 'Q', taskQueue: testbed.taskQueue });
      await pause(500 + 200 * index);
      await run.cancel(`after a while ${index}`);
      const { status, cancelReason } = await run.result({ timeout: 20_000 });
      return `${status}: ${cancelReason}`;
    }),
  );
  expect(statuses).toEqual(statuses.map((_, index) => `cancelled: after a while ${index}`));
}, 60_000);
