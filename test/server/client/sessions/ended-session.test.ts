import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { SessionHandle } from '../../../../src/client/index.ts';
import { toUIMessages } from '../../../../src/server/protocols/ai-sdk/index.ts';
import { defineAgent, defineTool } from '../../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const talker = defineAgent({ name: 'talker', model: 'scripted/m' });
const strict = defineAgent({ name: 'strict', model: 'scripted/m', deps: z.object({ customer: z.string() }) });
const slow = defineTool({
  name: 'slow',
  description: 'Waits for a long time',
  parameters: z.object({}),
  execute: (_, { signal }) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
});
const waiter = defineAgent({ name: 'waiter', model: 'scripted/m', tools: [slow] });

async function open(...answers: Parameters<typeof scriptedModel>[0]): Promise<Testbed> {
  const testbed = await Testbed.open();
  await testbed.work({ agents: [talker, strict, waiter], providers: { scripted: scriptedModel(answers) } });
  return testbed;
}

function talk(testbed: Testbed, agent: string, deps = {}): SessionHandle {
  return testbed.client.session(agent, { id: `talk-${randomUUID()}`, taskQueue: testbed.taskQueue, deps });
}

test('a question to a session whose agent cannot be resolved is answered with the reason', async () => {
  await using testbed = await open();
  const session = talk(testbed, 'strict', { customer: 42 });
  const answer = await session.ask('hello', { timeout: '30s' });
  expect(answer).toMatchObject({ status: 'error', success: false, errorCode: 'invalid_input', turn: 1, firstStep: 1 });
  expect(answer.error).toContain('customer');
  expect(await session.turn(1, { timeout: '30s' })).toMatchObject({ status: 'error', errorCode: 'invalid_input' });
}, 60_000);

test('the message of a session whose agent cannot be resolved stays to be read, with a worker, without one, and by a page', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [strict], providers: { scripted: scriptedModel([]) } });
  const session = talk(testbed, 'strict', { customer: 42 });
  await session.ask('hello', { id: 'm1', timeout: '30s' });
  const unread = [{ id: 'm1', content: 'hello' }];
  expect(await session.run.context()).toMatchObject({ events: [], unread });
  expect((await toUIMessages(session)).messages).toMatchObject([{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }]);
  await testbed.stopWorkers();
  expect(await session.run.context()).toMatchObject({ events: [], unread });
}, 60_000);

test('a session whose agent could not be resolved begins again with its next message, as the options of the handle say', async () => {
  await using testbed = await open(say('hi'), say('again'));
  const id = `talk-${randomUUID()}`;
  const sessionWith = (deps: object): SessionHandle => testbed.client.session<string>('strict', { id, taskQueue: testbed.taskQueue, deps });
  const wrong = sessionWith({ customer: 42 });
  expect(await wrong.ask('hello', { timeout: '30s' })).toMatchObject({ status: 'error', errorCode: 'invalid_input' });
  expect(await wrong.ask('hello again', { timeout: '30s' })).toMatchObject({ status: 'error', errorCode: 'invalid_input', turn: 1 });
  const mended = sessionWith({ customer: 'Ada' });
  expect(await mended.ask('hello', { timeout: '30s' })).toMatchObject({ output: 'hi', turn: 1 });
  expect(await wrong.ask('more', { timeout: '30s' })).toMatchObject({ output: 'again', turn: 2 });
}, 60_000);

test('a message to the id of a run that has ended is refused as one, and starts nothing, however the run has ended', async () => {
  await using testbed = await open(say('hi'));
  const { taskQueue } = testbed;
  const [failed, completed] = [`run-${randomUUID()}`, `run-${randomUUID()}`];
  await testbed.client.run<string>('strict', { runId: failed, input: 'Q', taskQueue, deps: { customer: 42 } });
  await testbed.client.run(talker, { runId: completed, input: 'Q', taskQueue });
  for (const id of [failed, completed]) {
    const session = testbed.client.session<string>('strict', { id, taskQueue, deps: { customer: 'Ada' } });
    await expect(session.send('hello', { timeout: '10s' })).rejects.toMatchObject({
      code: 'invalid_input',
      message: `Run "${id}" is not a session, and has ended: choose another id for the session`,
    });
    expect((await testbed.client.handle(id).status()).status).toBe(id === failed ? 'error' : 'completed');
  }
}, 60_000);

test('a session that was cancelled before its agent was resolved stays ended', async () => {
  await using testbed = await Testbed.open();
  const session = talk(testbed, 'talker');
  await session.open();
  await session.run.cancel('wrong chat');
  await testbed.work({ agents: [talker], providers: { scripted: scriptedModel([say('hi')]) } });
  await until(async () => (await session.status()).status === 'cancelled', 'the end');
  await expect(session.send('hello', { timeout: '10s' })).rejects.toMatchObject({ code: 'run_ended' });
}, 60_000);

test('a question whose session is terminated in the middle of the turn ends with an error', async () => {
  await using testbed = await open(callTool('slow', {}));
  const session = talk(testbed, 'waiter');
  await session.open();
  const asked = session.ask('hello', { timeout: '30s' }).catch((error: unknown) => error);
  await until(async () => ((await session.status()).running?.length ?? 0) > 0, 'the call');
  await testbed.client.temporal.workflow.getHandle(session.id).terminate('an operator');
  expect(await asked).toMatchObject({ code: 'run_terminated' });
  await expect(session.turn(1, { timeout: '30s' })).rejects.toMatchObject({ code: 'run_terminated' });
}, 60_000);

test('a turn that a closed session never began is refused, and so is a further message', async () => {
  await using testbed = await open(say('hi'));
  const session = talk(testbed, 'talker');
  await session.ask('hello');
  await session.close();
  await session.run.result();
  expect(await session.turn(1)).toMatchObject({ output: 'hi' });
  await expect(session.turn(2, { timeout: '30s' })).rejects.toMatchObject({ code: 'run_ended' });
  await expect(session.ask('more')).rejects.toMatchObject({ code: 'run_ended' });
}, 60_000);

test('for a session without a turn, the newest turn is the first one: the wait ends with it', async () => {
  await using testbed = await open(say('hi'));
  const session = talk(testbed, 'talker');
  await session.open();
  await until(async () => (await session.status()).status === 'idle', 'the session');
  const first = session.turn(undefined, { timeout: '30s' });
  await session.send('hello');
  expect(await first).toMatchObject({ turn: 1, output: 'hi' });
}, 60_000);
