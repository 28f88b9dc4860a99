import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { contextUpdate, defineAgent, defineTool, ModelRetry, ToolFailure, withUpdate } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const QUICK = { initial: '10ms', max: '10ms' } as const;

test('a tool that throws is retried with the same key, as often as its policy allows, and the attempts add no event', async () => {
  await using testbed = await Testbed.open();
  const attempts: [retry: number, key: string][] = [];
  const flaky = defineTool({
    name: 'flaky',
    description: 'Works the third time',
    parameters: z.object({}),
    backoff: QUICK,
    execute: (_, { retry, idempotencyKey }) => {
      attempts.push([retry, idempotencyKey]);
      if (retry < 2) throw new Error('not yet');
      return 'there';
    },
  });
  const broken = defineTool({
    name: 'broken',
    description: 'Never works',
    parameters: z.object({}),
    maxAttempts: 2,
    backoff: QUICK,
    execute: () => {
      throw new Error('out of order');
    },
  });
  const final = defineTool({
    name: 'final',
    description: 'Fails for good',
    parameters: z.object({}),
    execute: () => {
      throw new ToolFailure('there is no order 7');
    },
  });
  const agent = defineAgent({ name: 'trier', model: 'scripted/m', tools: [flaky, broken, final] });
  const scripted = scriptedModel([together(callTool('flaky'), callTool('broken'), callTool('final')), say('done')]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const { runId, steps } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  expect(steps?.[0]?.toolCalls.map(({ result, isError }) => [result, isError])).toEqual([
    ['there', false],
    ['out of order (2 attempts)', true],
    ['there is no order 7', true],
  ]);
  expect(attempts.map(([retry]) => retry)).toEqual([0, 1, 2]);
  expect(new Set(attempts.map(([, key]) => key)).size).toBe(1);
  const failures = (await historyOf(testbed, runId)).filter((event) => event.activityTaskFailedEventAttributes);
  expect(failures).toEqual([]);
});

test('an attempt that exceeds its time limit ends, is retried, and is recorded', async () => {
  await using testbed = await Testbed.open();
  const keys = new Set<string>();
  const stuck = defineTool({
    name: 'stuck',
    description: 'Hangs',
    parameters: z.object({}),
    timeout: '100ms',
    maxAttempts: 2,
    backoff: QUICK,
    // The tool ignores its signal.
    execute: (_, { idempotencyKey }) => {
      keys.add(idempotencyKey);
      return new Promise(() => undefined);
    },
  });
  const agent = defineAgent({ name: 'stuck', model: 'scripted/m', tools: [stuck] });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('stuck'), say('done')]) } });
  const { steps } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  expect(steps?.[0]?.toolCalls[0]?.result).toBe("Tool 'stuck' timed out after 100ms (2 attempts)");
  expect(keys.size).toBe(1);
});

test('an update of the deps is seen by the next call, validated by the agent, and shown in the context of the run', async () => {
  await using testbed = await Testbed.open();
  const deps = z.object({ userId: z.string(), notes: z.array(z.string()).max(2).default([]) });
  type Deps = z.output<typeof deps>;
  const note = defineTool({
    name: 'note',
    description: 'Keeps a note',
    parameters: z.object({ text: z.string() }),
    execute: ({ text }, context: { deps: Readonly<Deps>; userId: string | undefined; usage: { llmCalls: number } }) =>
      withUpdate(
        { of: context.userId, before: context.deps.notes, llmCalls: context.usage.llmCalls },
        contextUpdate<Deps>().append('notes', text),
      ),
  });
  const agent = defineAgent({ name: 'noter', model: 'scripted/m', deps, tools: [note], parallel: false });
  const scripted = scriptedModel([
    together(callTool('note', { text: 'a' }, 'c1'), callTool('note', { text: 'b' }, 'c2')),
    callTool('note', { text: 'c' }, 'c3'),
    say('done'),
  ]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const run = await testbed.client.run(agent, {
    input: 'Q',
    deps: { userId: 'u7', notes: [] },
    principal: { user: 'u7' },
    taskQueue: testbed.taskQueue,
    steps: true,
  });
  const results = run.steps?.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result)) ?? [];
  expect(results.slice(0, 2).map((result) => JSON.parse(result) as unknown)).toEqual([
    { of: 'u7', before: [], llmCalls: 1 },
    { of: 'u7', before: ['a'], llmCalls: 1 },
  ]);
  expect(results[2]).toMatch(/^The update of the deps by tool 'note' was refused, and changed nothing: .*deps\.notes/);
  const { deps: after, events } = await testbed.client.handle(run.runId).context();
  expect(after).toEqual({ userId: 'u7', notes: ['a', 'b'] });
  expect(events[2]?.contextUpdates).toEqual([
    { callId: 'c1', operations: [{ op: 'append', key: 'notes', value: 'a' }] },
    { callId: 'c2', operations: [{ op: 'append', key: 'notes', value: 'b' }] },
  ]);
});

test('a tool may ask the model to call it again, a bounded number of times', async () => {
  await using testbed = await Testbed.open();
  const picky = defineTool({
    name: 'picky',
    description: 'Wants a city',
    parameters: z.object({}),
    modelRetries: 1,
    execute: () => {
      throw new ModelRetry('Give me a city.');
    },
  });
  const agent = defineAgent({ name: 'picky', model: 'scripted/m', tools: [picky] });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('picky'), callTool('picky'), say('done')]) } });
  const { steps } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  expect(steps?.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual([
    'Give me a city.\nPlease try again.',
    "Tool 'picky' failed, and has no retries left (it asked once): Give me a city. Try another way.",
  ]);
});

test('the status of the run shows the progress of a long call, and the next attempt continues from it', async () => {
  await using testbed = await Testbed.open();
  const seen = Promise.withResolvers<void>();
  const copy = defineTool({
    name: 'copy_files',
    description: 'Copies files',
    parameters: z.object({}),
    backoff: QUICK,
    execute: async (_, { heartbeat, lastHeartbeat, retry }) => {
      const from = Number(lastHeartbeat ?? 0);
      heartbeat(from + 3);
      await seen.promise;
      if (retry === 0) throw new Error('the disk is full');
      return `copied from ${from} on`;
    },
  });
  const agent = defineAgent({ name: 'copier', model: 'scripted/m', tools: [copy] });
  await testbed.work({
    agents: [agent],
    providers: { scripted: scriptedModel([callTool('copy_files'), say('done')]) },
    heartbeatEvery: 200,
  });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => {
    const { running = [] } = await handle.status();
    return running.some(({ name, attempt, progress }) => name === 'copy_files' && attempt === 1 && progress === 3);
  }, 'the progress of the call');
  seen.resolve();
  const { steps } = await handle.result({ steps: true });
  expect(steps?.[0]?.toolCalls[0]?.result).toBe('copied from 3 on');
  expect(await handle.status()).not.toHaveProperty('running');
});

test('calls of a tool overlap as much as its options allow, and go to the task queue that it names', async () => {
  await using testbed = await Testbed.open();
  let running = 0;
  let most = 0;
  const narrow = defineTool({
    name: 'narrow',
    description: 'Two at a time',
    parameters: z.object({}),
    concurrency: 2,
    taskQueue: testbed.taskQueue,
    execute: async () => {
      most = Math.max(most, ++running);
      await delay(30);
      running -= 1;
      return 'ok';
    },
  });
  const agent = defineAgent({ name: 'narrow', model: 'scripted/m', tools: [narrow] });
  const five = Array.from({ length: 4 }, () => callTool('narrow'));
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([together(callTool('narrow'), ...five), say('done')]) } });
  const { runId, toolCallsTotal } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect({ most, toolCallsTotal }).toEqual({ most: 2, toolCallsTotal: 5 });
  const scheduled = (await historyOf(testbed, runId)).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  expect(scheduled.filter(({ activityType }) => activityType?.name === 'narrow').map(({ taskQueue }) => taskQueue?.name)).toEqual(
    Array.from({ length: 5 }, () => testbed.taskQueue),
  );
});

test('a call that runs again after a reset has the same key, and two calls with equal arguments have different keys', async () => {
  await using testbed = await Testbed.open();
  const keys: string[] = [];
  const act = defineTool({
    name: 'act',
    description: 'Acts',
    parameters: z.object({}),
    execute: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return 'acted';
    },
  });
  const agent = defineAgent({ name: 'actor', model: 'scripted/m', tools: [act], parallel: false });
  const scripted = scriptedModel([together(callTool('act'), callTool('act')), say('done'), say('done again')]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const { runId } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  const scheduled = (await historyOf(testbed, runId)).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  const first = scheduled.find(({ activityType }) => activityType?.name === 'act');
  const { temporal } = testbed.client;
  await temporal.workflowService.resetWorkflowExecution({
    namespace: temporal.options.namespace,
    workflowExecution: { workflowId: runId },
    reason: 'test',
    requestId: `${runId}-reset`,
    workflowTaskFinishEventId: first?.workflowTaskCompletedEventId ?? null,
  });
  await until(() => scripted.requests.length === 3, 'the run to end again');
  expect(await testbed.client.handle(runId).result()).toMatchObject({ status: 'completed', output: 'done again' });
  expect(keys).toHaveLength(4);
  expect(keys.slice(2)).toEqual(keys.slice(0, 2));
  expect(keys[0]).not.toBe(keys[1]);
});
