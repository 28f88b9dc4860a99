import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../../src/index.ts';
import type { RunHandle } from '../../../../src/client/index.ts';
import { callTool, hang, say, type ScriptedModel, scriptedModel } from '../../../../src/testing/index.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { executionStatus, Testbed, until } from '../../testbed/testbed.ts';

const sign = defineTool({ name: 'sign', description: 'Signs.', parameters: z.object({}), approval: 'always', execute: () => 'signed' });
const helper = defineAgent({ name: 'helper', model: 'below/m', tools: [sign] });
const chief = defineAgent({ name: 'chief', model: 'above/m', tools: [agentTool(helper, { kept: true })] });
const ask = (request: string) => callTool('helper', { request });

/** Returns the texts of the conversation of the newest request. */
function newestTexts({ requests }: ScriptedModel): unknown[] {
  const { conversation = [] } = requests.at(-1) ?? {};
  return conversation.flatMap(({ content }) => content.flatMap((item) => (item.type === 'message' ? [item.content] : [])));
}

async function childrenIn(run: RunHandle<unknown>): Promise<(string | undefined)[]> {
  const { steps } = await run.result({ steps: true });
  return steps.flatMap(({ toolCalls }) => toolCalls.map(({ childRunId }) => childRunId));
}

/** Returns the number of the timers that wait in a run. */
async function pendingTimers(testbed: Testbed, runId: string): Promise<number> {
  const events = (await testbed.client.temporal.workflow.getHandle(runId).fetchHistory()).events ?? [];
  const over = events.filter((event) => event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes);
  return events.filter((event) => event.timerStartedEventAttributes).length - over.length;
}

test('a kept agent remembers its earlier turns, also if the run continues as new in between, and ends with the run', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), ask('When?'), ask('Where?'), say('Ada, in 1843.')]);
  const below = scriptedModel([say('Ada.'), say('In 1843.'), say('In London.')]);
  await testbed.work({ agents: [chief], providers: { above, below }, continueAsNew: { events: 25 } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({
    status: 'completed',
    output: 'Ada, in 1843.',
    descendants: { runs: 1, usage: { llmCalls: 3 } },
  });
  expect(newestTexts(below)).toEqual(['Who?', 'Ada.', 'When?', 'In 1843.', 'Where?']);
  expect((await run.status()).executions).toBeGreaterThan(1);
  const [child = ''] = await childrenIn(run);
  expect(await childrenIn(run)).toEqual([child, child, child]);
  await until(async () => (await executionStatus(testbed, child)) === 'COMPLETED', 'the end of the session', 20);
  await expectSameFromHistory(testbed, run);
  await expectSameFromHistory(testbed, testbed.client.handle(child));
}, 60_000);

test('a session keeps its agent over its turns, and closes it when it is reset or closed', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), say('Ada.'), ask('When?'), say('In 1843.'), ask('Where?'), say('In London.')]);
  const below = scriptedModel([say('Ada.'), say('In 1843.'), say('In London.')]);
  await testbed.work({ agents: [chief], providers: { above, below } });
  const session = testbed.client.session(chief, { id: `kept-${testbed.taskQueue}`, taskQueue: testbed.taskQueue });
  expect(await session.ask('first')).toMatchObject({ output: 'Ada.', descendants: { runs: 1 } });
  expect(await session.ask('second')).toMatchObject({ output: 'In 1843.', descendants: { usage: { llmCalls: 1 } } });
  expect(newestTexts(below)).toEqual(['Who?', 'Ada.', 'When?']);
  await session.reset();
  await session.ask('third');
  expect(newestTexts(below)).toEqual(['Where?']);
  await session.close();
  await session.run.result();
  const [child = '', same, afterReset = ''] = await childrenIn(session.run);
  expect([same, afterReset]).toEqual([child, expect.not.stringContaining(child)]);
  for (const kept of [child, afterReset]) {
    await until(async () => (await executionStatus(testbed, kept)) === 'COMPLETED', 'the end of the session', 20);
  }
  await expectSameFromHistory(testbed, session.run);
}, 60_000);

test('a run that is cancelled interrupts the turn of its kept agent, counts it, and closes the session', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), ask('When?')]);
  const below = scriptedModel([say('Ada.'), hang('In 18')]);
  await testbed.work({ agents: [chief], providers: { above, below }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(() => below.requests.length === 2, 'the second turn', 40);
  await run.cancel('enough');
  expect(await run.result()).toMatchObject({ status: 'cancelled', descendants: { runs: 1, usage: { llmCalls: 2 } } });
  const [child = ''] = await childrenIn(run);
  await until(async () => (await executionStatus(testbed, child)) === 'COMPLETED', 'the end of the session', 20);
  await expectSameFromHistory(testbed, run);
  await expectSameFromHistory(testbed, testbed.client.handle(child));
}, 60_000);

test('a message that interrupts the run interrupts the turn alone, and the session answers the next call', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), ask('When?'), say('In 1843.')]);
  const below = scriptedModel([hang('Ad'), say('In 1843.')]);
  await testbed.work({ agents: [chief], providers: { above, below }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(() => below.requests.length === 1, 'the first turn', 40);
  await run.send('Never mind', { mode: 'interrupt' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'In 1843.', descendants: { runs: 1 } });
  expect(newestTexts(below)).toEqual(expect.arrayContaining(['Who?', 'When?']));
  const [child, same] = await childrenIn(run);
  expect(same).toBe(child);
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('an approval in a kept agent is shown in the parent, and the session takes messages of that run alone', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Sign'), ask('Again'), say('Done.')]);
  const below = scriptedModel([callTool('sign', {}), say('Once.'), callTool('sign', {}), say('Twice.')]);
  await testbed.work({ agents: [chief], providers: { above, below } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const decided = new Set<string>();
  for (let turn = 1; turn <= 2; turn += 1) {
    await until(async () => (await run.approvals()).pending.some(({ callId }) => !decided.has(callId)), `the wait of turn ${turn}`, 60);
    const waiting = (await run.approvals()).pending.find(({ callId }) => !decided.has(callId));
    if (waiting === undefined) throw new Error('nothing waits');
    decided.add(waiting.callId);
    await run.approve(waiting);
  }
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('a session that was terminated between two calls is replaced by another one', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), callTool('sign', {}), ask('When?'), ask('When?'), say('Done.')]);
  const below = scriptedModel([say('Ada.'), say('In 1843.')]);
  const signing = defineAgent({ name: 'signing', model: 'above/m', tools: [agentTool(helper, { kept: true }), sign] });
  await testbed.work({ agents: [signing], providers: { above, below } });
  const run = await testbed.client.start(signing, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the signature', 40);
  const [step] = (await run.steps()) ?? [];
  const child = step?.toolCalls[0]?.childRunId ?? '';
  const toSession = testbed.client.handle(child).send('hello');
  await expect(toSession).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining('is kept by run') });
  expect(await pendingTimers(testbed, child)).toBe(0);
  await testbed.client.temporal.workflow.getHandle(child).terminate('operator');
  for (const waiting of (await run.approvals()).pending) await run.approve(waiting);
  const { steps, output } = await run.result({ steps: true });
  expect(output).toBe('Done.');
  const results = steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result));
  expect(results[2]).toContain('its session has ended: the next call starts another one');
  expect(results[3]).toBe('In 1843.');
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('a kept agent whose run is terminated during a turn cancels itself, and an idle one is left until it is closed', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), callTool('sign', {})]);
  const below = scriptedModel([say('Ada.'), hang('In 18')]);
  const signing = defineAgent({ name: 'signing', model: 'above/m', tools: [agentTool(helper, { kept: true }), sign] });
  await testbed.work({ agents: [signing], providers: { above, below }, childCheckEvery: 1_000, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(signing, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the signature', 40);
  const child = (await run.steps())?.[0]?.toolCalls[0]?.childRunId ?? '';
  const session = testbed.client.temporal.workflow.getHandle(child);
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('operator');
  expect(await pendingTimers(testbed, child)).toBe(0);
  expect(await executionStatus(testbed, child)).toBe('RUNNING');
  await session.signal('nextTurn', { turn: 2, content: 'When?', runs: 0 });
  await until(async () => (await executionStatus(testbed, child)) === 'CANCELLED', 'the end of the session', 40);
}, 60_000);

test('a session that was terminated during a turn ends the call that waits for it, also in a later execution of the run', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), ask('When?'), say('Nobody knows.')]);
  const below = scriptedModel([say('Ada.'), hang('In 18')]);
  await testbed.work({
    agents: [chief],
    providers: { above, below },
    continueAsNew: { events: 20 },
    childCheckEvery: 1_000,
    heartbeatEvery: 60_000,
  });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(() => below.requests.length === 2, 'the second turn', 40);
  const child = (await run.status()).children?.[0] ?? '';
  expect((await run.status()).executions).toBeGreaterThan(1);
  await testbed.client.temporal.workflow.getHandle(child).terminate('operator');
  const { steps, output } = await run.result({ steps: true });
  expect(output).toBe('Nobody knows.');
  expect(steps[1]?.toolCalls[0]?.result).toContain('was terminated by an operator');
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('a run that was terminated and is retried starts another session, and takes no answer of the first one for its own', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([ask('Who?'), ask('When?'), hang('In 18'), ask('Where?'), ask('Where in London?'), say('In London.')]);
  const below = scriptedModel([say('Ada.'), say('In 1843.'), say('In London.')]);
  await testbed.work({ agents: [chief], providers: { above, below }, childCheckEvery: 2_000 });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(() => above.requests.length === 3, 'the call after two answers', 40);
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('by an operator');
  await run.retry({ fromStep: 2 });
  const { steps } = await run.result({ steps: true });
  expect(steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual([
    'Ada.',
    expect.stringContaining('its session has ended: the next call starts another one'),
    'In London.',
  ]);
  const [first = '', , second] = steps.flatMap(({ toolCalls }) => toolCalls.map(({ childRunId }) => childRunId));
  expect(second).not.toBe(first);
  expect(await executionStatus(testbed, first)).toBe('CANCELLED');
}, 60_000);

test.each([
  ['before the model asks again', 1, ['Ada.', 'In London.']],
  ['after the model has asked again: the question is the same', 2, ['Ada.', 'In 1843.', 'In London.']],
])(
  'a run that was reset without a retry, %s, takes only the answers to its own questions',
  async (_, after, results) => {
    await using testbed = await Testbed.open();
    const above = scriptedModel([ask('Who?'), ask('When?'), callTool('sign', {}), ask('Where?'), say('Done.')]);
    const below = scriptedModel([say('Ada.'), say('In 1843.'), say('In London.')]);
    const signing = defineAgent({ name: 'signing', model: 'above/m', tools: [agentTool(helper, { kept: true }), sign] });
    await testbed.work({ agents: [signing], providers: { above, below }, childCheckEvery: 2_000 });
    const { runId } = await testbed.client.start(signing, { input: 'Go', taskQueue: testbed.taskQueue });
    const run = testbed.client.handle(runId);
    await until(async () => (await run.approvals()).pending.length === 1, 'the signature', 40);
    const { temporal } = testbed.client;
    const events = (await temporal.workflow.getHandle(runId).fetchHistory()).events ?? [];
    const calls = events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === 'callModel' ? [{ eventId, finished: scheduled.workflowTaskCompletedEventId }] : [],
    );
    const asked = events.find(
      ({ workflowTaskCompletedEventAttributes: finished, eventId }) => finished && Number(eventId) > Number(calls[after - 1]?.eventId),
    );
    await temporal.workflowService.resetWorkflowExecution({
      namespace: temporal.options.namespace,
      workflowExecution: { workflowId: runId },
      reason: 'test',
      requestId: `${runId}-reset`,
      workflowTaskFinishEventId: after === 1 ? (calls[after]?.finished ?? null) : (asked?.eventId ?? null),
    });
    const { steps, output } = await testbed.client.handle(runId).result({ steps: true });
    expect(output).toBe('Done.');
    expect(steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual(results);
    expect(below.requests).toHaveLength(3);
  },
  60_000,
);
