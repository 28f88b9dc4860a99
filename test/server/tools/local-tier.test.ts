import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Runtime } from '@temporalio/worker';
import { afterEach, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { StepResult } from '../../../src/core/domain/tool-calls.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import { contextUpdate, defineAgent, defineTool, ModelRetry, ToolFailure, withUpdate } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { killProcess, resultsIn, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const QUICK = { initial: '1ms', max: '1ms' } as const;

const deps = z.object({ userId: z.string(), note: z.string(), seen: z.array(z.string()) });
type Deps = z.output<typeof deps>;

/** The same agent with tools of one tier, which run sequentially. They use everything that a tool can use, except effects. */
function reader(tier: 'local' | 'remote'): AnyAgent {
  const base = { tier, backoff: QUICK, description: 'Does' };
  const look = defineTool({
    ...base,
    name: 'look',
    parameters: z.object({ at: z.string() }),
    execute: ({ at }, { deps: given, state, setState, step, callId, retry, usage, userId }: LookContext) => {
      setState('looks', Number(state['looks'] ?? 0) + 1);
      const told = {
        length: at.length,
        note: given.note.length,
        seen: given.seen,
        looks: state['looks'] ?? 0,
        step,
        callId,
        retry,
        userId,
      };
      return withUpdate({ ...told, llmCalls: usage.llmCalls }, contextUpdate<Deps>().append('seen', at.slice(0, 3)));
    },
  });
  const flaky = defineTool({
    ...base,
    name: 'flaky',
    parameters: z.object({}),
    execute: (_, { retry }) => {
      if (retry < 2) throw new Error('not yet');
      return [{ attempts: retry + 1 }];
    },
  });
  const broken = defineTool({ ...base, name: 'broken', parameters: z.object({}), execute: () => fail(new Error('out of order')) });
  const final = defineTool({ ...base, name: 'final', parameters: z.object({}), execute: () => fail(new ToolFailure('there is no such')) });
  const picky = defineTool({ ...base, name: 'picky', parameters: z.object({}), execute: () => fail(new ModelRetry('a city, please')) });
  const tools = [look, flaky, broken, final, picky];
  return defineAgent({ name: 'reader', model: 'scripted/m', deps, tools, parallel: false });
}

interface LookContext {
  deps: Readonly<Deps>;
  state: Record<string, unknown>;
  setState: (key: string, value: number) => void;
  step: number;
  callId: string;
  retry: number;
  usage: { llmCalls: number };
  userId: string | undefined;
}

function fail(error: Error): never {
  throw error;
}

afterEach(() => vi.restoreAllMocks());

/** The local calls of a history, by name. */
function localCalls(history: readonly HistoryEvent[]): string[] {
  return history.flatMap(({ markerRecordedEventAttributes: marker }) => {
    const [data] = marker?.markerName === 'core_local_activity' ? (marker.details?.['data']?.payloads ?? []) : [];
    return data === undefined ? [] : [(JSON.parse(Buffer.from(data.data ?? []).toString()) as { activity_type: string }).activity_type];
  });
}

/** The events of a history from one model call to the next, for each step. */
function eventsPerStep(history: readonly HistoryEvent[]): number[] {
  const calls = history.flatMap(({ activityTaskScheduledEventAttributes: one }, place) =>
    one?.activityType?.name === 'callModel' ? [place] : [],
  );
  return calls.slice(1).map((place, index) => place - (calls[index] ?? 0));
}

function withoutIdsAndTimes(events: readonly Event[], steps: readonly StepResult[]): object {
  return {
    events: events.map(({ id: _, timestamp: __, executionId: ___, ...event }) => event),
    steps: steps.map(({ toolCalls, ...step }) => ({
      ...step,
      toolCalls: toolCalls.map(({ durationMs: _, timestamp: __, ...call }) => call),
    })),
  };
}

const FAR = 'f'.repeat(3_000);
const SCRIPT = [
  together(callTool('look', { at: FAR }, 'c1'), callTool('flaky', {}, 'c2'), callTool('look', { at: 'b' }, 'c3')),
  callTool('look', { at: 'c' }, 'c4'),
  callTool('broken', {}, 'c5'),
  callTool('final', {}, 'c6'),
  callTool('picky', {}, 'c7'),
  say('done'),
];

/** The record of a run with tools of one tier, and its history. */
async function observe(tier: 'remote' | 'local') {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [reader(tier)], providers: { scripted: scriptedModel(SCRIPT) } });
  const given = { userId: 'u7', note: 'n'.repeat(3_000), seen: [] };
  const { runId, status, steps } = await testbed.client.run('reader', {
    input: 'Q',
    deps: given,
    principal: { user: 'u7' },
    taskQueue: testbed.taskQueue,
    steps: true,
  });
  const handle = testbed.client.handle(runId);
  await expectSameFromHistory(testbed, handle);
  const { events, state, deps: after } = await handle.context();
  await testbed.stopWorkers();
  expect(await handle.steps()).toEqual(steps);
  return { said: { status, state, after, ...withoutIdsAndTimes(events, steps) }, history: await historyOf(testbed, runId) };
}

test('a local tool gives the same results, events, state and deps as a remote one, in seven events per step', async () => {
  const [remote, local] = await Promise.all([observe('remote'), observe('local')]);
  expect(local.said).toEqual(remote.said);
  expect(local.said).toMatchObject({ status: 'completed', state: { looks: 3 }, after: { seen: ['fff', 'b', 'c'] } });
  expect(localCalls(local.history)).toEqual(['look', 'flaky', 'look', 'look', 'broken', 'final', 'picky']);
  // There are three calls in the first step; attempts add no events.
  expect(eventsPerStep(local.history)).toEqual([9, 7, 7, 7, 7]);
  expect(eventsPerStep(remote.history)).toEqual([24, 12, 12, 12, 12]);
});

test('a local call waits for approval, and runs with edited arguments of any size', async () => {
  await using testbed = await Testbed.open();
  const strike = defineTool({
    name: 'strike',
    description: 'Strikes lines out',
    tier: 'local',
    parameters: z.object({ lines: z.string() }),
    approval: 'always',
    execute: ({ lines }) => `struck ${lines.length}`,
  });
  const agent = defineAgent({ name: 'editor', model: 'scripted/m', tools: [strike] });
  const both = together(callTool('strike', { lines: 'a' }, 'c1'), callTool('strike', { lines: 'b' }, 'c2'));
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([both, say('done')]) } });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length === 2, 'two calls to wait');
  await handle.approve('c2', { id: 'd1', by: 'ann', arguments: { lines: 'x'.repeat(3_000) } });
  await handle.reject('c1', { id: 'd2', by: 'ann' });
  const { steps } = await handle.result({ steps: true });
  expect(steps?.[0]?.toolCalls.map(({ result }) => result)).toEqual(['User denied the tool execution.', 'struck 3000']);
  expect(localCalls(await historyOf(testbed, handle))).toEqual(['strike']);
  await expectSameFromHistory(testbed, handle);
});

test('the worker logs a slow local call', async () => {
  const logged = vi.spyOn(Runtime.instance().logger, 'log').mockReturnValue(undefined);
  await using testbed = await Testbed.open();
  const crawl = defineTool({
    name: 'crawl',
    description: 'Takes its time',
    tier: 'local',
    parameters: z.object({}),
    execute: () => sleep(1_050, 'there'),
  });
  const agent = defineAgent({ name: 'crawler', model: 'scripted/m', tools: [crawl] });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('crawl', {}, 'c1'), say('done')]) } });
  const { runId } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  const [warning] = logged.mock.calls.filter(([level, message]) => level === 'WARN' && message.includes('local tool'));
  expect(warning?.[1]).toMatch(
    /^The local tool "crawl" took \d+ ms, and delayed the workflow task of its run for that long: set "tier": "remote"$/,
  );
  expect(warning?.[2]).toMatchObject({ agent: 'crawler', step: 1, callId: 'c1', workflowId: runId });
});

test('a cancellation reaches a local call that lasts over several workflow tasks', async () => {
  await using testbed = await Testbed.open();
  const began = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<unknown>();
  const wait = defineTool({
    name: 'wait',
    description: 'Waits',
    tier: 'local',
    timeout: '10s',
    parameters: z.object({}),
    execute: async (_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason));
      began.resolve();
      await sleep(9_000, undefined, { signal });
    },
  });
  const agent = defineAgent({ name: 'waiter', model: 'scripted/m', tools: [wait] });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('wait', {}, 'c1')]) } });
  const handle = await startQuick(testbed, 'waiter', 'Q');
  await began.promise;
  await handle.cancel('enough');
  expect(await aborted.promise).toMatchObject({ name: 'CancelledFailure' });
  const { status, steps } = await handle.result({ steps: true });
  expect(status).toBe('cancelled');
  expect(steps?.[0]?.toolCalls.map(({ callId, isError }) => [callId, isError])).toEqual([['c1', true]]);
  await expectSameFromHistory(testbed, handle);
});

test('a local call whose worker dies runs again with the same key, and no other call is repeated', async () => {
  await using testbed = await Testbed.open();
  let worker: ChildProcess | undefined;
  const asked: number[] = [];
  const model = await startWorkingModel(async (request) => void asked.push(resultsIn(request)));
  const tools = await startToolServer(async (path) => {
    if (path === '/work/1' && worker?.signalCode === null) await killProcess(worker);
  });
  const environment = {
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: testbed.address,
    TEST_TASK_QUEUE: testbed.taskQueue,
    TEST_MODEL_URL: model.url,
    TEST_TOOL_URL: tools.url,
    TEST_TOOL_TIER: 'local',
  };
  const first = (worker = await startWorkerProcess(environment));
  const handle = await startQuick(testbed, 'worker_agent', 'Work!');
  await until(() => first.signalCode === 'SIGKILL', 'the worker to be killed');
  worker = undefined;
  const second = await startWorkerProcess(environment);
  const { status, steps } = await handle.result({ steps: true, timeout: 40_000 });
  await killProcess(second);
  await Promise.all([model.close(), tools.close()]);
  expect(status).toBe('completed');
  expect(asked).toEqual([0, 1, 2, 3]);
  expect(tools.calls).toEqual(['/work/0', '/work/1', '/work/1', '/work/2']);
  expect(tools.keys[2]).toBe(tools.keys[1]);
  expect(new Set(tools.keys).size).toBe(3);
  expect(steps?.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual(['did /work/0', 'did /work/1', 'did /work/2']);
});

/**
 * Starts a run whose workflow tasks take a second at most: a task with an open local call ends after 0.8 seconds, and the call continues in
 * the next one.
 */
async function startQuick({ client, taskQueue }: Testbed, agent: string, input: string): Promise<RunHandle<unknown>> {
  const options = { taskQueue, workflowId: taskQueue, args: [{ agent, input }], workflowTaskTimeout: '1s' } as const;
  const { workflowId } = await client.temporal.workflow.start('agentRun', options);
  return client.handle(workflowId);
}

test(
  'a run continues if a worker cancels its local call because its cache is full: nobody has cancelled the run',
  { timeout: 120_000 },
  async () => {
    await using testbed = await Testbed.open();
    /** Of the run whose call fails once. */
    let attempts = 0;
    const flaky = defineTool({
      name: 'flaky',
      description: 'Fails so often before it works',
      parameters: z.object({ times: z.int() }),
      tier: 'local',
      backoff: { initial: '1s' },
      execute: ({ times }, { retry }) => {
        attempts += times;
        if (retry < times) throw new Error('not yet');
        return 'works';
      },
    });
    const calls = 4;
    const model: ModelClient = {
      capabilities: { structuredOutput: true },
      call: ({ conversation }) => {
        const items = conversation.flatMap(({ content }) => content);
        const asked = items.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [Number(item.content)] : []));
        const done = items.filter(({ type }) => type === 'tool_result').length;
        const toolCalls = done < calls ? [{ id: `call-${done}`, name: 'flaky', arguments: { times: asked[0] ?? 0 } }] : [];
        return Promise.resolve({ content: 'done', toolCalls, usage: null, finishReason: 'stop' });
      },
    };
    const agent = defineAgent({ name: 'trying', model: 'own/m', tools: [flaky] });
    await testbed.work({ agents: [agent], providers: { own: model }, worker: { maxCachedWorkflows: 2 } });
    const start = (times: number): Promise<RunHandle> =>
      testbed.client.start(agent, { input: String(times), taskQueue: testbed.taskQueue });
    // While one run waits for the next attempt at its local call, inside its workflow task, tasks of other runs take its cache place.
    const slow = await start(1);
    const over = new AbortController();
    const sending = (async () => {
      while (!over.signal.aborted) {
        await slow.send('0').catch(() => undefined);
        await sleep(30);
      }
    })();
    const quick = await Promise.all(Array.from({ length: 8 }, () => start(0)));
    for (const handle of [slow, ...quick]) {
      const { status, steps } = await handle.result({ steps: true });
      if (handle === slow) over.abort();
      expect(status).toBe('completed');
      expect(steps.flatMap(({ toolCalls }) => toolCalls.map(({ isError }) => isError))).not.toContain(true);
    }
    await sending;
    // It was forgotten, or no place in the cache was missing.
    expect(attempts).toBeGreaterThan(2 * calls);
    await expectSameFromHistory(testbed, slow);
  },
);
