import { getClient } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defined } from '../../../src/core/domain/json.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { type AnyAgent, defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, failWith, hang, say, type ScriptEntry, scriptedModel, together } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const pages = defineTool({
  name: 'read_page',
  description: 'Reads a page',
  parameters: z.object({ page: z.number() }),
  backoff: { initial: 10, max: 20 },
  execute: ({ page }, { retry, setState }) => {
    if (page % 5 === 0 && retry === 0) throw new Error('at first');
    setState('last', page);
    return `the text of page ${page}`;
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  effect: 'once',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});

const reader = defineAgent({ name: 'reader', model: 'scripted/m', tools: [pages, pay], limits: { steps: 50 } });
const bursting = defineAgent({ name: 'reader', model: 'scripted/m', tools: [pages, pay], limits: { steps: 50 }, burst: true });

/** Twelve steps: plain calls, calls that fail at first, parallel calls, and a call that no burst makes. */
const SCRIPT: ScriptEntry[] = [
  ...[1, 2, 3, 4, 5].map((page) => callTool('read_page', { page }, `c${page}`)),
  together(callTool('read_page', { page: 6 }, 'c6'), callTool('read_page', { page: 7 }, 'c7')),
  together(callTool('read_page', { page: 8 }, 'c8'), callTool('pay', { amount: 1 }, 'c9')),
  ...[10, 11, 12, 13].map((page) => callTool('read_page', { page }, `c${page}`)),
  say('read'),
];

interface Recorded {
  events: unknown[];
  steps: unknown[];
  usage: unknown;
  requests: string[];
  history: string[];
  /** What the Temporal UI shows of the bursts. */
  summaries: string[];
}

/** The record of a run, without the parts that differ between runs. */
async function record(agent: AnyAgent, options: object = {}): Promise<Recorded> {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await testbed.work({ agents: [agent], providers: { scripted }, ...options });
  const run = await testbed.client.start(agent, { input: 'Read', taskQueue: testbed.taskQueue });
  const result = await run.result({ steps: true, timeout: 30_000 });
  expect(result).toMatchObject({ status: 'completed', output: 'read' });
  const { events } = await run.context();
  const scheduled = (await historyOf(testbed, run)).flatMap(({ activityTaskScheduledEventAttributes: activity, userMetadata }) =>
    activity ? [{ name: activity.activityType?.name ?? '', summary: JSON.parse(String(userMetadata?.summary?.data)) as string }] : [],
  );
  await expectSameFromHistory(testbed, run);
  return {
    events: events.map(({ id: _, timestamp: __, executionId: ___, ...event }: Event) => event),
    steps: (result.steps ?? []).map((step) => ({
      ...step,
      toolCalls: step.toolCalls.map((call) => ({ ...call, durationMs: 0, timestamp: '' })),
    })),
    usage: result.usage,
    requests: scripted.requests.map((request) => JSON.stringify(request)),
    history: scheduled.map(({ name }) => name),
    summaries: scheduled.flatMap(({ name, summary }) => (name === 'runBurst' ? [summary] : [])),
  };
}

test('a run in bursts records the same as one without, sends the same requests, and has few activities', async () => {
  const { history: long, summaries: none, ...plain } = await record(reader);
  const { history: short, summaries, ...burst } = await record(bursting);
  expect(burst).toEqual(plain);
  expect(none).toEqual([]);
  expect(summaries).toEqual([
    'from step 1 · m · up to 16 steps',
    'from step 8 · m · up to 16 steps · before: 7 steps, 8 × read_page, 1 × pay',
  ]);
  expect(long).toHaveLength(1 + 12 + 13);
  // The call next to the one that no burst makes has not begun in the burst.
  expect(short).toEqual(['resolveAgent', 'runBurst', 'read_page', 'pay', 'runBurst']);
  // Without a cache, the workflow is replayed at each of its tasks.
  const { history: replayed, summaries: said, ...again } = await record(bursting, { worker: { maxCachedWorkflows: 0 } });
  expect(again).toEqual(plain);
  expect(replayed).toEqual(short);
  expect(said).toEqual(summaries);
}, 90_000);

test.each([
  ['waits for the server before each call', undefined, 6],
  ['waits for the server once in a step whose tool only reads', 'read', 3],
  ['waits for the server once in a step whose tool only searches', 'search', 3],
] as const)(
  'a burst of four steps %s',
  async (_, category, expected) => {
    await using testbed = await Testbed.open();
    let requests = 0;
    const looks = defineTool({
      name: 'look',
      description: 'Looks',
      parameters: z.object({ page: z.number() }),
      ...defined({ category }),
      execute: ({ page }) => `the text of page ${page}`,
    });
    const agent = defineAgent({ name: 'looker', model: 'scripted/m', tools: [looks], burst: true });
    const scripted = scriptedModel([...[1, 2, 3].map((page) => callTool('look', { page }, `c${page}`)), say('read')]);
    const counted = new WeakSet<object>();
    const counting: ActivityInterceptorsFactory = () => ({
      inbound: {
        execute: (input, next) => {
          const { workflowService } = getClient();
          const heartbeat = workflowService.recordActivityTaskHeartbeat.bind(workflowService);
          const countAndSend = (...request: Parameters<typeof heartbeat>): ReturnType<typeof heartbeat> => {
            requests += 1;
            return heartbeat(...request);
          };
          if (!counted.has(workflowService)) Object.assign(workflowService, { recordActivityTaskHeartbeat: countAndSend });
          counted.add(workflowService);
          return next(input);
        },
      },
    });
    await testbed.work({
      agents: [agent],
      providers: { scripted },
      heartbeatEvery: 60_000,
      worker: { interceptors: { activity: [counting] } },
    });
    const run = await testbed.client.start(agent, { input: 'Read', taskQueue: testbed.taskQueue });
    expect(await run.result({ timeout: 30_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 4 });
    expect(requests).toBe(expected);
    await expectSameFromHistory(testbed, run);
  },
  30_000,
);

test('a message ends the burst, and the next request has it; an interrupting message aborts the call in flight', async () => {
  await using testbed = await Testbed.open();
  const waits = [1, 2].map((page) => callTool('read_page', { page }, `c${page}`));
  const scripted = scriptedModel([...waits, hang('half an ans'), say('as you like')]);
  await testbed.work({ agents: [bursting], providers: { scripted }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(bursting, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 3, 'the model call');
  await run.send('rather this', { mode: 'interrupt' });
  expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'as you like', stepsUsed: 3 });
  const { events } = await run.context();
  expect(events[5]).toMatchObject({ interrupted: true, content: [{ content: 'half an ans' }] });
  expect(events[6]).toMatchObject({ author: 'user', content: [{ content: 'rather this' }] });
  await expectSameFromHistory(testbed, run);
}, 30_000);

test('a message that interrupts the first call of a burst between two attempts is in the next request', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([failWith('model_server_error', 'later', { retryAfter: '4s' }), say('as you like')]);
  await testbed.work({ agents: [bursting], providers: { scripted }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(bursting, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the model call');
  await run.send('rather this', { mode: 'interrupt' });
  expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'as you like', stepsUsed: 1 });
  expect(JSON.stringify(scripted.requests[1])).toContain('rather this');
  expect(scripted.requests).toHaveLength(2);
  await expectSameFromHistory(testbed, run);
}, 30_000);

test('while a burst runs, the views of a run say of when they are, with a worker and without', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('read_page', { page: 1 }, 'c1'), hang('half an ans'), say('at last')]);
  await testbed.work({ agents: [bursting], providers: { scripted }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(bursting, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 2, 'the model call');
  const { asOf, events, currentStep } = await run.status();
  expect({ events, currentStep }).toEqual({ events: 1, currentStep: 0 });
  const context = await run.context();
  expect(context.asOf).toBe(asOf);
  expect(Date.parse(asOf ?? '')).toBeGreaterThanOrEqual(Date.parse(context.events[0]?.timestamp ?? ''));
  await expectSameFromHistory(testbed, run);
  await run.send('rather this', { mode: 'interrupt' });
  expect(await run.result({ timeout: 15_000 })).toMatchObject({ output: 'at last' });
  expect((await run.status()).asOf).toBeUndefined();
  expect((await run.context()).asOf).toBeUndefined();
}, 30_000);

test('a cancellation aborts the call of a burst, whose part is recorded', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('read_page', { page: 1 }, 'c1'), hang('half an ans')]);
  await testbed.work({ agents: [bursting], providers: { scripted }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(bursting, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 2, 'the model call');
  await run.cancel('enough');
  expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'cancelled', output: 'half an ans', stepsUsed: 1 });
  await expectSameFromHistory(testbed, run);
}, 30_000);

test('a model call that is longer than the heartbeat timeout of the burst is made once', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('read_page', { page: 1 }, 'c1'), say('late')]);
  const slow: typeof scripted = {
    ...scripted,
    call: async (request, context) => {
      const answer = await scripted.call(request, context);
      if (scripted.requests.length === 2) await new Promise((resolve) => setTimeout(resolve, 24_000));
      return answer;
    },
  };
  await testbed.work({ agents: [bursting], providers: { scripted: slow }, heartbeatEvery: 1_000 });
  const run = await testbed.client.start(bursting, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result({ timeout: 60_000 })).toMatchObject({ status: 'completed', output: 'late' });
  expect(scripted.requests).toHaveLength(2);
}, 90_000);
