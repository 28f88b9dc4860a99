import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Event } from '../../../src/core/domain/record.ts';
import { type StreamEntry, WAITS_STREAM } from '../../../src/core/domain/stream.ts';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import { ask, unit } from '../../../src/define/program/index.ts';
import { agentTool, defineAgent, defineProgram, defineTool } from '../../../src/index.ts';
import { withoutUncountedAttempts } from '../../../src/core/domain/missing-definitions.ts';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import { callTool, failWith, hang, say, type ScriptEntry, scriptedModel, structured, together } from '../../../src/testing/index.ts';
import { type FakeSink, fakeSink, folded } from '../../fakes/fake-sink.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => `saw ${at}`,
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'paid',
});
const agent = defineAgent({ name: 'bot', model: 'scripted/m', tools: [look, pay] });

const POLL = { timeout: 10_000 };

type Recorded = Extract<StreamEntry, { type: 'recorded' }>;
type Attempted = Extract<StreamEntry, { type: 'attempt' }>;

const announced = (sink: FakeSink, runId: string): Recorded[] => sink.entries(runId).filter((entry) => entry.type === 'recorded');
const attempts = (sink: FakeSink, runId: string): Attempted['of'][] =>
  sink.entries(runId).flatMap((entry) => (entry.type === 'attempt' ? [entry.of] : []));

/** Compares the deltas of a run, by the event that replaces them, with the events that were recorded. */
function expectSameTexts(sink: FakeSink, runId: string, events: readonly Event[]): void {
  const answers = events.filter(({ usage }) => usage !== undefined);
  const byEvent = folded(sink.entries(runId));
  expect(attempts(sink, runId).flatMap(({ eventId }) => (answers.some(({ id }) => id === eventId) ? [eventId] : []))).toEqual(
    answers.map(({ id }) => id),
  );
  for (const { id, content } of answers) {
    const written = content.map((item) =>
      item.type === 'tool_call' ? JSON.stringify(item.arguments) : item.type === 'message' ? item.content : '',
    );
    expect(byEvent[id]?.map((delta) => ('text' in delta ? delta.text : '')) ?? ['']).toEqual(written);
  }
}

test('a run streams its answers, and announces its events, its pauses and its end', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const script = [together(say('I look'), callTool('look', { at: 'the Moon' })), callTool('pay'), say('It is far, and paid.')];
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel(script) }, streams: sink });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await expect.poll(async () => (await handle.approvals()).pending.length, POLL).toBe(1);
  const [pending] = (await handle.approvals()).pending;
  await handle.approve(pending?.callId ?? '', { by: 'ann' });
  await handle.result();
  const { events } = await handle.context();
  const steps = await handle.steps();
  expectSameTexts(sink, handle.runId, events);
  expect(attempts(sink, handle.runId).map(({ through, attempt }) => [through, attempt])).toEqual([
    [1, 1],
    [3, 1],
    [6, 1],
  ]);
  const news = announced(sink, handle.runId);
  expect(news.map(({ status }) => status).filter((status, index, all) => status !== all[index - 1])).toEqual([
    'running',
    'pending_confirmation',
    'running',
    'completed',
  ]);
  expect(news.at(-1)).toMatchObject({ events: events.length, steps: steps.length, status: 'completed' });
  expect(new Set(news.map((entry) => JSON.stringify(entry))).size).toBe(news.length);
  await testbed.stopWorkers();
  expect(sink.closed).toBe(1);
});

test('a run announces once that it waits for all of its calls, and again when it waits for others', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const script = [together(callTool('pay', {}, 'c1'), callTool('look', { at: 'the Moon' }, 'c2'), callTool('pay', {}, 'c3')), say('Paid.')];
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel(script) }, streams: sink });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  const recorded = (): number => announced(sink, handle.runId).filter(({ status }) => status === 'pending_confirmation').length;
  const waits = (): number => announced(sink, WAITS_STREAM).length;
  await expect.poll(async () => (await handle.approvals()).pending.length, POLL).toBe(2);
  await expect.poll(waits, POLL).toBe(1);
  const before = recorded();
  await handle.raise({ steps: 50 });
  await expect.poll(recorded, POLL).toBeGreaterThan(before);
  expect(waits()).toBe(1);
  await handle.approve('c1', { by: 'ann' });
  await expect.poll(waits, POLL).toBe(2);
  await handle.approve('c3', { by: 'ann' });
  await handle.result();
  expect(waits()).toBe(2);
});

/** The types of the events of a history, each with the bytes of its payloads. Times and durations have as many digits as they need. */
function sizes(history: readonly HistoryEvent[]): [string, number][] {
  const bytesIn = (value: unknown): number => {
    if (value instanceof Uint8Array)
      return Buffer.from(value)
        .toString('latin1')
        .replaceAll(/"duration(?:Ms|Seconds)":[\d.]+|\b1\d{9}\.\d+/g, '').length;
    return typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, one) => sum + bytesIn(one), 0) : 0;
  };
  return history.map((event) => [String(event.eventType), bytesIn(event)]);
}

test('a sink and a reader of the stream add no event and no byte to the history', async () => {
  await using testbed = await Testbed.open();
  const items: string[] = [];
  const historyWith = async (sink: FakeSink | undefined, taskQueue: string): Promise<[string, number][]> => {
    const script = [together(say('I look'), callTool('look', { at: 'the Moon' })), say('It is far.')];
    const options = { agents: [agent], providers: { scripted: scriptedModel(script) } };
    await testbed.work(sink === undefined ? options : { ...options, streams: sink });
    const handle = await testbed.client.start(agent, { input: 'Q', runId: `${sink === undefined ? 'p' : 's'}-${taskQueue}`, taskQueue });
    if (sink !== undefined) for await (const { type } of handle.stream()) items.push(type);
    await handle.result();
    const history = await historyOf(testbed, handle);
    await testbed.stopWorkers();
    return sizes(history);
  };
  const plain = await historyWith(undefined, testbed.taskQueue);
  const sink = fakeSink();
  expect(await historyWith(sink, testbed.taskQueue)).toEqual(plain);
  expect(sink.published.length).toBeGreaterThan(5);
  expect([items.filter((type) => type === 'event').length, items.at(-1)]).toEqual([4, 'end']);
});

test('a second attempt announces itself under another id, the id of the event', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const model = scriptedModel([failWith('model_server_error', 'later', { retryAfter: 1 }), say('at last')]);
  await testbed.work({ agents: [agent], providers: { scripted: model }, streams: sink });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await handle.result();
  const [first, second] = attempts(sink, handle.runId);
  expect([first, second]).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  expect(first?.eventId).not.toBe(second?.eventId);
  expectSameTexts(sink, handle.runId, (await handle.context()).events);
});

test('the part of an answer that was interrupted or cancelled has the id that was streamed', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const model = scriptedModel([hang('half'), hang('a quarter')]);
  await testbed.work({ agents: [agent], providers: { scripted: model }, streams: sink });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await expect.poll(() => model.requests.length, POLL).toBe(1);
  await handle.send('Go on', { mode: 'interrupt' });
  await expect.poll(() => model.requests.length, POLL).toBe(2);
  await handle.cancel('enough');
  const { status } = await handle.result();
  expect(status).toBe('cancelled');
  const { events } = await handle.context();
  expect(events.filter(({ interrupted }) => interrupted)).toHaveLength(2);
  expectSameTexts(sink, handle.runId, events);
  expect(announced(sink, handle.runId).at(-1)).toMatchObject({ events: events.length, status: 'cancelled' });
});

test('the totals keep counting when a run continues as new', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const script = [...[1, 2, 3].map((at) => callTool('look', { at: String(at) })), say('done')];
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel(script) }, streams: sink, continueAsNew: { events: 15 } });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await handle.result();
  const news = announced(sink, handle.runId);
  const executions = [...new Set(news.map(({ executionId }) => executionId))];
  expect(executions.length).toBeGreaterThan(1);
  const totals = news.map(({ events }) => events);
  expect(totals).toEqual(totals.toSorted((one, other) => one - other));
  expect(news.at(-1)).toMatchObject({ events: 8, steps: 4, status: 'completed' });
  expect(attempts(sink, handle.runId).map(({ through }) => through)).toEqual([1, 3, 5, 7]);
});

test('a session that begins idle announces its turns, and when it is idle or closed', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([say('one'), say('two')]) }, streams: sink });
  const session = testbed.client.session(agent, { id: `session-${testbed.taskQueue}`, taskQueue: testbed.taskQueue });
  await session.ask('1');
  await session.ask('2');
  await session.close();
  await expect.poll(() => announced(sink, session.id).at(-1)?.status, POLL).toBe('completed');
  const statuses = announced(sink, session.id).map(({ status }) => status);
  expect(statuses.filter((status, index) => status !== statuses[index - 1])).toEqual([
    'idle',
    'running',
    'idle',
    'running',
    'idle',
    'completed',
  ]);
});

test('a paused run and a resumed one announce it', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const gate = Promise.withResolvers<void>();
  const wait = defineTool({ name: 'wait', description: 'Waits', parameters: z.object({}), execute: () => gate.promise });
  const waiting = defineAgent({ name: 'waiting', model: 'scripted/m', tools: [wait] });
  await testbed.work({ agents: [waiting], providers: { scripted: scriptedModel([callTool('wait'), say('done')]) }, streams: sink });
  const handle = await testbed.client.start(waiting, { input: 'Q', taskQueue: testbed.taskQueue });
  await handle.pause();
  gate.resolve();
  await expect.poll(() => announced(sink, handle.runId).at(-1)?.status, POLL).toBe('paused');
  await handle.resume();
  await handle.result();
  const statuses = announced(sink, handle.runId).map(({ status }) => status);
  expect(statuses.filter((status, index) => status !== statuses[index - 1])).toEqual(['running', 'paused', 'running', 'completed']);
});

test('the answers of the steps of a program have the ids that were streamed', async () => {
  await using testbed = await Testbed.open();
  const sink = fakeSink();
  const program = defineProgram({
    name: 'sorting',
    model: 'scripted/m',
    units: [unit('sort', {}, [ask('Kind', 'Which kind?'), ask('Why', 'Why {{Kind}}?')])],
  });
  const model = scriptedModel([say('a bill'), structured('because')]);
  await testbed.work({ agents: [], programs: [program], providers: { scripted: model }, streams: sink });
  const handle = await testbed.client.startProgram(program, { taskQueue: testbed.taskQueue });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  const { events } = await handle.context();
  expectSameTexts(sink, handle.runId, events);
  expect(announced(sink, handle.runId).at(-1)).toMatchObject({ events: events.length, status: 'completed' });
});

test('only runs that were started live are marked as live for their sink, including descendants and after a handoff', async () => {
  await using testbed = await Testbed.open();
  const sink = { ...fakeSink(), heartbeatEveryMs: 500 };
  const emitting = defineTool({
    name: 'emitting',
    description: 'Emits',
    parameters: z.object({}),
    execute: (_, { emit }) => emit('rows', 1),
  });
  const child = defineAgent({ name: 'child', model: 'child/m', tools: [emitting] });
  const last = defineAgent({ name: 'last', description: 'Ends', model: 'last/m' });
  const parent = defineAgent({
    name: 'parent',
    model: 'parent/m',
    tools: [agentTool(child, { description: 'Asks' })],
    handoffs: [last],
  });
  const scripts = {
    parent: [callTool('child', { request: 'Q' }), callTool('transfer_to_agent', { agent: 'last' })],
    child: [callTool('emitting'), say('c')],
    last: [say('l')],
  };
  const model = (entries: ScriptEntry[]): ModelClient => scriptedModel([...entries, ...entries]);
  const providers = { parent: model(scripts.parent), child: model(scripts.child), last: model(scripts.last) };
  await testbed.work({ agents: [parent, child, last], providers, streams: sink });
  const lives = async (options: { live?: boolean }): Promise<Set<boolean | undefined>> => {
    sink.published.length = 0;
    const { status } = await testbed.client.run(parent, { input: 'Q', taskQueue: testbed.taskQueue, ...options });
    expect(status).toBe('completed');
    const ofCalls = sink.published.filter(({ entry }) => entry.type !== 'recorded');
    expect(new Set(ofCalls.map(({ runId }) => runId)).size).toBe(2);
    expect(ofCalls.some(({ entry }) => entry.type === 'delta' && entry.delta.type === 'data')).toBe(true);
    return new Set(ofCalls.map(({ activity }) => activity?.live));
  };
  expect(await lives({ live: true })).toEqual(new Set([true]));
  expect(await lives({})).toEqual(new Set([false]));
});

test('the server shows the stream details of a live call next to its progress, at the pace of the sink', async () => {
  await using testbed = await Testbed.open();
  const beats: number[] = [];
  const sink: FakeSink = {
    ...fakeSink({
      publish: ({ entry, activity }) => {
        if (entry.type === 'delta' && entry.delta.type === 'data' && activity?.live) activity.heartbeat({ sent: beats.push(entry.index) });
      },
    }),
    heartbeatEveryMs: 50,
  };
  const gate = Promise.withResolvers<void>();
  const slow = defineTool({
    name: 'slow',
    description: 'Emits',
    parameters: z.object({}),
    execute: async (_, { emit, heartbeat }) => {
      heartbeat({ row: 1 });
      emit('rows', 1);
      emit('rows', 2);
      await gate.promise;
    },
  });
  const slowAgent = defineAgent({ name: 'slow_agent', model: 'scripted/m', tools: [slow] });
  await testbed.work({ agents: [slowAgent], providers: { scripted: scriptedModel([callTool('slow'), say('done')]) }, streams: sink });
  const handle = await testbed.client.start(slowAgent, { input: 'Q', live: true, taskQueue: testbed.taskQueue });
  const workflow = testbed.client.temporal.workflow.getHandle(handle.runId);
  const details = async (): Promise<unknown> => {
    const { raw } = await workflow.describe();
    const [data] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
    return data?.data ? (JSON.parse(Buffer.from(data.data).toString()) as unknown) : undefined;
  };
  await expect.poll(async () => withoutUncountedAttempts(await details()), POLL).toMatchObject({ 'longhaul:stream': { sent: 2 } });
  const { running = [] } = await handle.status();
  expect(running).toMatchObject([{ progress: { row: 1 } }]);
  gate.resolve();
  expect(await handle.result()).toMatchObject({ status: 'completed' });
});
