import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { readRun } from '../../../src/history/read-run.ts';
import { RunChain } from '../../../src/client/executions.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { StepResult } from '../../../src/core/domain/tool-calls.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { type ContextPage, QUERIES, SIGNALS, type StepsPage } from '../../../src/core/protocol.ts';
import { callTool, hang, say, scriptedModel, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { assistant, broken, search } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const EVERY_STEP = { events: 8 };

/** Reads the record from the run itself by query, execution by execution. */
async function asked(testbed: Testbed, runId: string, executionIds: string[]): Promise<{ events: Event[]; steps: StepResult[] }> {
  const events: Event[] = [];
  const steps: StepResult[] = [];
  for (const executionId of executionIds) {
    const handle = testbed.client.temporal.workflow.getHandle(runId, executionId);
    events.push(...(await handle.query<ContextPage, [object]>(QUERIES.context, { from: events.length })).events);
    steps.push(...(await handle.query<StepsPage, [object]>(QUERIES.steps, { from: steps.length })).steps);
  }
  return { events, steps };
}

/** Reads the record from history alone. */
async function read(testbed: Testbed, runId: string): Promise<{ events: Event[]; steps: StepResult[]; executionIds: string[] }> {
  const { temporal } = testbed.client;
  const all = { events: [] as Event[], steps: [] as StepResult[], executionIds: [] as string[] };
  for await (const { events, steps, executionId } of readRun(temporal, runId, new RunChain(temporal, runId))) {
    all.events.push(...events);
    all.steps.push(...steps);
    all.executionIds.push(executionId);
  }
  return all;
}

/** Blanks the ids of events after the last response: nothing in history names them. */
function exceptLastIds(events: readonly Event[]): unknown[] {
  const last = events.findLastIndex(({ usage }) => usage !== undefined);
  return events.map((event, offset) => (offset > last ? { ...event, id: '' } : event));
}

async function expectSame(testbed: Testbed, { runId }: RunHandle): Promise<void> {
  const { executionIds, ...recorded } = await read(testbed, runId);
  const live = await asked(testbed, runId, executionIds);
  expect(exceptLastIds(recorded.events)).toEqual(exceptLastIds(live.events));
  expect(recorded.steps).toEqual(live.steps);
}

const SCRIPT: ScriptEntry[] = [
  together(say('first'), callTool('search', { query: 'one' }, 'c1'), callTool('broken', {}, 'c2')),
  // Call ids may repeat in a run without end.
  together(say('second'), callTool('search', { query: 'two' }, 'c1'), callTool('nope', {}, 'c4')),
  callTool('search', { query: 'three' }, 'c5'),
  say('done'),
];

test('a run of many executions reads as one run, with a worker and without', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(SCRIPT) }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, deps: { user: 1 } });
  const followed = await Array.fromAsync(run.events({ follow: true }));
  const result = await run.result({ steps: true });
  await expectSame(testbed, run);
  const [events, steps, status, context] = [
    await Array.fromAsync(run.events()),
    await run.steps(),
    await run.status(),
    await run.context(),
  ];
  expect(status.executions).toBeGreaterThanOrEqual(4);
  expect(events).toHaveLength(8);
  expect(followed).toEqual(events);
  expect(context).toMatchObject({ from: 0, total: 8, events: events.slice(0, context.events.length) });
  expect(await Array.fromAsync(run.events({ from: 3 }))).toEqual(events.slice(3));
  expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  expect(result.steps).toEqual(steps);
  await testbed.stopWorkers();
  expect(exceptLastIds(await Array.fromAsync(run.events()))).toEqual(exceptLastIds(events));
  expect(await run.steps()).toEqual(steps);
  expect(await run.status()).toEqual(status);
  expect(await run.context({ from: 7 })).toMatchObject({ firstOffset: 7, from: 7, total: 8, currentStep: 4 });
}, 60_000);

test('a run answers queries while it continues as new, and its record only grows', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(SCRIPT) }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const told = [];
  do {
    const [status, context, steps] = [await run.status(), await run.context(), await run.steps()];
    told.push({ status, total: context.total, first: context.from, steps: steps.map(({ step }) => step) });
  } while (told.at(-1)?.status.status === 'running');
  expect(told.every(({ first, steps }) => first === 0 && steps.every((step, index) => step === index + 1))).toBe(true);
  const numbers = told.map(({ status, total, steps }) => [status.executions, status.events, total, steps.length]);
  for (const column of [0, 1, 2, 3]) {
    const values = numbers.map((row) => row[column] ?? 0);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
  }
  expect(numbers.at(-1)?.slice(1)).toEqual([8, 8, 4]);
}, 60_000);

test('messages by Update and by Signal are read back at the offsets where the run took them in, across executions', async () => {
  await using testbed = await Testbed.open();
  const listener = defineAgent({ name: 'listener', model: 'scripted/m', tools: [search, broken], limits: { steps: 60 } });
  const script = [
    ...Array.from({ length: 25 }, (_, step) => callTool('search', { query: `q${step}` }, 'same')),
    say('done'),
    say('done'),
    say('done'),
  ];
  await testbed.work({ agents: [listener], providers: { scripted: scriptedModel(script) }, continueAsNew: { events: 30, updates: 4 } });
  const run = await testbed.client.start(listener, { input: 'Q', taskQueue: testbed.taskQueue });
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  for (let message = 0; message < 12; message += 1) {
    await Promise.all([
      run.send(`update ${message}`, { id: `u${message}` }),
      handle.signal(SIGNALS.send, { id: `s${message}`, content: `signal ${message}` }),
      handle.signal(SIGNALS.send, { id: `s${message}`, content: `signal ${message}` }),
      handle.signal(SIGNALS.send, { id: `s${message}`, content: 'another message with the id' }),
    ]);
    if (message === 3) await run.pause();
    if (message === 6) await run.resume();
  }
  await run.result();
  expect((await run.status()).executions).toBeGreaterThan(2);
  await expectSame(testbed, run);
}, 60_000);

test('a compacted run is read back with its markers and summaries', async () => {
  await using testbed = await Testbed.open();
  const window = { maxBytes: 3_000, keepResults: 1 };
  const long = 'x'.repeat(600);
  const steps = Array.from({ length: 12 }, (_, step) => callTool('search', { query: `${step}${long}` }, `c${step}`));
  const summaries = scriptedModel(Array.from({ length: 12 }, () => say('what was said')));
  const providers = { scripted: scriptedModel([...steps, say('done')]), summaries };
  const compacting = { ...window, summaryModel: 'summaries/m' } as const;
  const agent = defineAgent({ name: 'reader', model: 'scripted/m', tools: [search], limits: { steps: 30 }, window: compacting });
  await testbed.work({ agents: [agent], providers, continueAsNew: { events: 40 } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const events = await Array.fromAsync(run.events());
  expect(events.filter(({ compaction }) => compaction !== undefined).length).toBeGreaterThan(1);
  await expectSame(testbed, run);
}, 60_000);

test('a run that is cancelled during its calls is read back as it ended', async () => {
  await using testbed = await Testbed.open();
  const script = [callTool('search', { query: 'a' }, 'c1'), callTool('search', { query: 'b' }, 'c2'), hang('half')];
  const scripted = scriptedModel(script);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: EVERY_STEP, heartbeatEvery: 200 });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 3, 'the third model call');
  expect(await run.cancel('enough')).toBe('requested');
  expect(await run.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough', stepsUsed: 2 });
  await expectSame(testbed, run);
  expect(await run.cancel('again')).toBe('already_ended');
}, 60_000);

test('cancelled calls are read back as cancelled, and the finished calls next to them as finished', async () => {
  await using testbed = await Testbed.open();
  let waiting = 0;
  const wait = defineTool({
    name: 'wait',
    description: 'Waits',
    parameters: z.object({}),
    execute: async (_, { signal }) => {
      waiting += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      // The run does not wait for this tool.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return 'too late';
    },
  });
  const waiter = defineAgent({ name: 'waiter', model: 'scripted/m', tools: [search, wait] });
  const script = [
    together(callTool('search', { query: 'a' }, 'c1'), callTool('wait', {}, 'c2'), callTool('nope', {}, 'c3'), callTool('wait', {}, 'c4')),
  ];
  await testbed.work({ agents: [waiter], providers: { scripted: scriptedModel(script) }, heartbeatEvery: 200 });
  const run = await testbed.client.start(waiter, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => waiting === 2, 'the calls');
  await run.send('one more thing', { id: 'm1' });
  await run.cancel('enough');
  expect(await run.result()).toMatchObject({ status: 'cancelled', stepsUsed: 1 });
  await expectSame(testbed, run);
  const [step] = await run.steps();
  expect(step?.toolCalls.map(({ isError }) => isError)).toEqual([false, true, true, true]);
}, 60_000);
