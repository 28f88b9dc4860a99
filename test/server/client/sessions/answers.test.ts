import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { hang, say, scriptedModel } from '../../../../src/testing/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const agent = defineAgent({ name: 'brief', model: 'scripted/m' });

test('an ask waits for the turn that answers its message, if the turn that its receipt names is interrupted before', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang('half an ans'), say('both')]);
  await testbed.work({ agents: [agent], providers: { scripted }, heartbeatEvery: 60_000 });
  const session = testbed.client.session(agent, { id: `talk-${randomUUID()}`, taskQueue: testbed.taskQueue });
  expect(await session.send('first', { id: 'm1' })).toMatchObject({ turn: 1 });
  await until(() => scripted.requests.length === 1, 'the first model call');
  const asked = session.ask('second', { id: 'm2' });
  await until(async () => (await session.status()).queued === 1, 'the second message');
  await session.interrupt();
  expect(await asked).toMatchObject({ turn: 2, status: 'completed', output: 'both' });
  expect(await session.turn(1)).toMatchObject({ status: 'cancelled', output: 'half an ans', unanswered: ['m2'] });
  await expectSameFromHistory(testbed, session.run);
});

test('a resent ask has the same answer, also after the session has continued as new', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), say('two'), say('three'), say('four')]);
  await testbed.work({ agents: [agent], providers: { scripted }, continueAsNew: { events: 30 } });
  const session = testbed.client.session(agent, { id: `talk-${randomUUID()}`, taskQueue: testbed.taskQueue });
  for (const [index, answer] of ['one', 'two', 'three', 'four'].entries()) {
    expect(await session.ask(`question ${index}`, { id: `m${index}` })).toMatchObject({ output: answer });
  }
  expect((await session.status()).executions).toBeGreaterThan(1);
  expect(await session.ask('question 0', { id: 'm0' })).toMatchObject({ turn: 1, output: 'one' });
  const another = testbed.client.session(agent, { id: session.id, taskQueue: testbed.taskQueue });
  expect(await another.ask('question 1', { id: 'm1' })).toMatchObject({ turn: 2, output: 'two' });
  await expectSameFromHistory(testbed, session.run);
});

test('a message does not wait for the call that makes the title, which is restarted after the next answer', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), hang('A tit'), say('two'), say('Two questions')]);
  await testbed.work({ agents: [agent], providers: { scripted }, heartbeatEvery: 60_000 });
  const session = testbed.client.session(agent, { id: `talk-${randomUUID()}`, generateTitle: true, taskQueue: testbed.taskQueue });
  await session.send('first');
  await until(() => scripted.requests.length === 2, 'the call for the title');
  expect(await session.turn(1)).toMatchObject({ output: 'one' });
  expect(await session.status()).toMatchObject({ status: 'idle' });
  expect(await session.ask('second')).toMatchObject({ turn: 2, output: 'two', usage: { llmCalls: 1 } });
  await until(async () => (await session.status()).session?.title === 'Two questions', 'the title');
  await expectSameFromHistory(testbed, session.run);
});

test('a session is closed while its title is made, and it does not keep the title', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('one'), hang('A tit')]);
  await testbed.work({ agents: [agent], providers: { scripted }, heartbeatEvery: 60_000 });
  const session = testbed.client.session(agent, { id: `talk-${randomUUID()}`, generateTitle: true, taskQueue: testbed.taskQueue });
  await session.send('first');
  await until(() => scripted.requests.length === 2, 'the call for the title');
  await session.close();
  expect(await session.run.result()).toMatchObject({ status: 'completed', stopReason: 'closed', output: 'one' });
  await expectSameFromHistory(testbed, session.run);
});

test('a session with a limit in dollars is refused if the worker has no price of its model', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([]) } });
  const session = testbed.client.session(agent, { id: `talk-${randomUUID()}`, limits: { costUsd: 1 }, taskQueue: testbed.taskQueue });
  await session.send('first');
  expect(await session.run.result()).toMatchObject({
    status: 'error',
    errorCode: 'invalid_agent',
    error: expect.stringContaining('of the session of agent "brief" cannot be enforced'),
  });
});
