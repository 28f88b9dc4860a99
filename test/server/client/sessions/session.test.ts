import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { callTool, hang, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { assistant } from '../../testbed/agents.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const sessionId = (): string => `talk-${randomUUID()}`;

test('a session answers message after message in one run, is idle between them, and completes if it is closed', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), callTool('search', { query: 'a' }), say('two'), say('three')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const session = testbed.client.session(assistant, { id: sessionId(), user: 'ada', taskQueue: testbed.taskQueue });

  expect(await session.ask('first')).toMatchObject({ turn: 1, firstStep: 1, stepsUsed: 1, status: 'completed', output: 'one' });
  expect(await session.ask('second')).toMatchObject({ turn: 2, firstStep: 2, stepsUsed: 2, output: 'two', toolCallsByName: { search: 1 } });
  expect(await session.status()).toMatchObject({
    status: 'idle',
    session: { turns: 2, spent: { stepsUsed: 3, toolCallsTotal: 1 }, limits: { turns: null, totalTokens: 200_000 } },
  });
  expect(await session.send('third')).toMatchObject({ turn: 3, status: 'queued' });
  expect(await session.turn(3)).toMatchObject({ turn: 3, output: 'three', firstStep: 4 });
  expect(await session.turn(1)).toMatchObject({ turn: 1, output: 'one' });
  const texts = scripted.requests
    .at(-1)
    ?.conversation.flatMap(({ content }) => content.flatMap((item) => (item.type === 'message' ? [item.content] : [])));
  expect(texts).toEqual(['first', 'one', 'second', 'two', 'third']);

  await session.close();
  expect(await session.run.result()).toMatchObject({ status: 'completed', stopReason: 'closed', output: 'three', stepsUsed: 4 });
  await expect(session.send('fourth')).rejects.toMatchObject({ code: 'run_ended' });
  await expectSameFromHistory(testbed, session.run);
});

test('an interrupted turn ends as cancelled, and the session answers the next message', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([together(say('let me see'), callTool('search', { query: 'a' })), hang('half an ans'), say('again')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, heartbeatEvery: 60_000 });
  const session = testbed.client.session(assistant, { id: sessionId(), taskQueue: testbed.taskQueue });
  await session.send('first');
  await until(() => scripted.requests.length === 2, 'the second model call');
  expect(await session.interrupt({ reason: 'never mind' })).toEqual({ version: 1, interrupted: true, turn: 1 });
  expect(await session.turn(1)).toMatchObject({
    status: 'cancelled',
    stopReason: 'cancelled',
    output: 'half an ans',
    cancelReason: 'never mind',
  });
  expect(await session.interrupt()).toEqual({ version: 1, interrupted: false });
  expect(await session.ask('second')).toMatchObject({ turn: 2, status: 'completed', output: 'again' });
  await expectSameFromHistory(testbed, session.run);
});

test('a session refuses messages at its limit, until a caller raises it', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), say('two'), say('three')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const session = testbed.client.session(assistant, { id: sessionId(), limits: { turns: 2 }, taskQueue: testbed.taskQueue });
  await session.ask('first');
  await session.ask('second');
  await expect(session.send('third')).rejects.toMatchObject({
    code: 'session_limit',
    message: expect.stringContaining('2 of 2 turns are used'),
  });
  await expect(session.raise({ turns: 1 })).rejects.toMatchObject({ code: 'invalid_input' });
  await session.raise({ turns: null });
  expect(await session.ask('third')).toMatchObject({ turn: 3, output: 'three' });
  await expectSameFromHistory(testbed, session.run);
});

test('a limit of the agent ends the turn and not the session', async () => {
  await using testbed = await Testbed.open();
  const search = (call: string) => callTool('search', { query: 'a' }, call);
  const scripted = scriptedModel([search('c1'), search('c2'), search('c3'), say('fine')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const session = testbed.client.session(assistant, { id: sessionId(), turnLimits: { steps: 2 }, taskQueue: testbed.taskQueue });
  expect(await session.ask('first')).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', stepsUsed: 2 });
  expect(await session.ask('second')).toMatchObject({ status: 'completed', output: 'fine', stepsUsed: 2, firstStep: 3 });
});

test('a turn of one model call takes eleven events, and a session continues as new before it waits once its history is long', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(Array.from({ length: 7 }, (_, index) => say(`answer ${index + 1}`)));
  const agent = defineAgent({ name: 'brief', model: 'scripted/m' });
  await testbed.work({ agents: [agent], providers: { scripted }, continueAsNew: { events: 60 } });
  const session = testbed.client.session(agent, { id: sessionId(), limits: { turns: null }, taskQueue: testbed.taskQueue });
  const lengths: number[] = [];
  for (let turn = 1; turn <= 4; turn += 1) {
    await session.ask(`question ${turn}`);
    lengths.push((await testbed.client.temporal.workflow.getHandle(session.id).describe()).historyLength);
  }
  expect(lengths.slice(1).map((length, index) => length - (lengths[index] ?? 0))).toEqual([11, 11, 11]);
  for (let turn = 5; turn <= 7; turn += 1) expect(await session.ask(`question ${turn}`)).toMatchObject({ turn, output: `answer ${turn}` });
  expect((await session.status()).executions).toBeGreaterThan(1);
  expect(await session.turn(2)).toMatchObject({ turn: 2, output: 'answer 2' });
  await expectSameFromHistory(testbed, session.run);
  await testbed.stopWorkers();
  expect(await session.turn(3)).toMatchObject({ turn: 3, output: 'answer 3' });
  expect(await session.turn(7)).toMatchObject({ turn: 7, output: 'answer 7' });
});

describe('the agent of a session', () => {
  const version = (instructions: string, deps?: z.ZodObject) =>
    defineAgent({ name: 'clerk', model: 'scripted/m', instructions, ...(deps === undefined ? {} : { deps }) });

  test('does not change from turn to turn, until a caller has it resolved again', async () => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel([say('one'), say('two'), say('three')]);
    await testbed.work({ agents: [version('Old')], providers: { scripted } });
    const session = testbed.client.session('clerk', { id: sessionId(), settings: { temperature: 0.5 }, taskQueue: testbed.taskQueue });
    await session.ask('first');
    await testbed.stopWorkers();
    await testbed.work({ agents: [version('New')], providers: { scripted } });
    await session.ask('second');
    expect(await session.refresh()).toEqual({ version: 1, beforeTurn: 3 });
    await session.ask('third');
    expect(scripted.requests.map(({ instructions, settings }) => [...instructions, settings?.temperature])).toEqual([
      ['Old', 0.5],
      ['Old', 0.5],
      ['New', 0.5],
    ]);
    expect((await session.run.context()).events.filter(({ refresh }) => refresh !== undefined)).toMatchObject([
      { refresh: { digest: expect.any(String) } },
    ]);
    await expectSameFromHistory(testbed, session.run);
  });

  test('does not change if the deps do not fit the new one, and the session reports that', async () => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel([say('one'), say('two')]);
    await testbed.work({ agents: [version('Old')], providers: { scripted } });
    const session = testbed.client.session('clerk', { id: sessionId(), deps: { language: 'en' }, taskQueue: testbed.taskQueue });
    await session.ask('first');
    await testbed.stopWorkers();
    await testbed.work({ agents: [version('New', z.object({ region: z.string() }))], providers: { scripted } });
    await session.refresh();
    expect(await session.ask('second')).toMatchObject({ status: 'completed', output: 'two' });
    expect(scripted.requests.flatMap(({ instructions }) => instructions)).toEqual(['Old', 'Old']);
    expect((await session.status()).lastError).toContain('Agent "clerk" stays as it was');
  });

  test('is pinned if the session says "never"', async () => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel([say('one')]);
    await testbed.work({ agents: [version('Old')], providers: { scripted } });
    const session = testbed.client.session('clerk', { id: sessionId(), refresh: 'never', taskQueue: testbed.taskQueue });
    await session.ask('first');
    await expect(session.refresh()).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining('keeps its agent') });
  });
});

test('a session makes its title by a model call after the first answer, and lists show it', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), say('The first question'), say('two')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const session = testbed.client.session(assistant, { id: sessionId(), generateTitle: true, taskQueue: testbed.taskQueue });
  await session.ask('first');
  await until(async () => (await session.status()).session?.title === 'The first question', 'the title');
  expect(await session.ask('second')).toMatchObject({ turn: 2, usage: { llmCalls: 1 } });
  expect(await session.status()).toMatchObject({ session: { spent: { usage: { llmCalls: 3 } } } });
  const { memo } = await testbed.client.temporal.workflow.getHandle(session.id).describe();
  expect(memo).toMatchObject({ longhaulTitle: 'The first question' });
  await expectSameFromHistory(testbed, session.run);
});

test('a session continues from the saved context of another one, with its deps', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), say('two'), say('three')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const first = testbed.client.session(assistant, { id: sessionId(), deps: { language: 'en' }, taskQueue: testbed.taskQueue });
  await first.ask('first');
  const saved = await first.run.save();
  const second = testbed.client.session(assistant, { id: sessionId(), saved, taskQueue: testbed.taskQueue });
  await second.ask('second');
  const texts = scripted.requests[1]?.conversation.flatMap(({ content }) =>
    content.flatMap((item) => (item.type === 'message' ? [item.content] : [])),
  );
  expect(texts).toEqual(['first', 'one', 'second']);
  expect((await second.run.context()).deps).toEqual({ language: 'en' });
  await second.reset();
  await second.ask('third');
  expect(scripted.requests[2]?.conversation.flatMap(({ content }) => content)).toMatchObject([{ content: 'third' }]);
  await expectSameFromHistory(testbed, second.run);
});
