import { randomUUID } from 'node:crypto';
import { LonghaulClient, RunHandle, type SessionHandle } from '../../../../src/client/index.ts';
import { describe, expect, test } from 'vitest';
import { ask, defineProgram, unit } from '../../../../src/define/program/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { clientOf, refusalOf, RUN_CALLS, SESSION_CALLS } from './other-users.ts';

const talker = defineAgent({ name: 'talker', model: 'scripted/m' });
const note = defineProgram({ name: 'note', model: 'scripted/m', units: [unit('u', {}, [ask('Note', 'Write a note')])] }).document;

async function open(): Promise<Testbed & { scoped: LonghaulClient }> {
  const testbed = await Testbed.open();
  const scripted = scriptedModel([say('Hello')], { repeatLast: true });
  await testbed.work({ agents: [talker, clerk], providers: { scripted } });
  return Object.assign(testbed, { scoped: new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue }) });
}

test('the calls of these tests are all the methods of runs', () => {
  const methods = Object.getOwnPropertyNames(RunHandle.prototype).filter((name) => name !== 'constructor');
  expect(Object.keys(RUN_CALLS).toSorted()).toEqual(methods.toSorted());
});

test('a client that acts for a principal reaches its runs, and no method reveals that a run of another principal exists', async () => {
  await using testbed = await open();
  const [ada, eve] = [clientOf(testbed.scoped, 1), clientOf(testbed.scoped, 2)];
  const run = await ada.start(talker, { input: 'Q' });
  await run.result();
  expect(await ada.handle(run.runId).status()).toMatchObject({ status: 'completed' });
  expect((await testbed.scoped.handle(run.runId).status()).status).toBe('completed');
  const unknown = randomUUID();
  for (const [name, call] of Object.entries(RUN_CALLS)) {
    const refused = await refusalOf(call(eve.handle(run.runId)), run.runId);
    expect([name, refused]).toEqual([name, await refusalOf(call(eve.handle(unknown)), unknown)]);
    expect(refused).toContain('run_not_found');
  }
  const nobody = await testbed.scoped.start(talker, { input: 'Q' });
  await expect(ada.handle(nobody.runId).status()).rejects.toMatchObject({ code: 'run_not_found' });
  await expect(ada.start(talker, { previousRunId: nobody.runId, input: 'Q' })).rejects.toMatchObject({ code: 'run_not_found' });
  await expect(eve.start(talker, { previousRunId: run.runId, input: 'Q' })).rejects.toMatchObject({ code: 'run_not_found' });
});

test('the session of another user is refused by every method', async () => {
  await using testbed = await open();
  const [ada, eve] = [clientOf(testbed.scoped, 1), clientOf(testbed.scoped, 2)];
  const id = `talk-${randomUUID()}`;
  await ada.session(talker, { id }).ask('Hi');
  for (const [name, call] of Object.entries(SESSION_CALLS)) {
    const session: SessionHandle = eve.session('talker', { id });
    const refusal = ['open', 'send', 'ask'].includes(name) ? 'run_exists' : 'run_not_found';
    expect([name, await refusalOf(call(session), id)]).toEqual([name, expect.stringContaining(refusal)]);
  }
  expect(await ada.session(talker, { id }).status()).toMatchObject({ status: 'idle', session: { turns: 1 } });
});

test('an id that is taken by another user is refused like any that is taken, and its run is not returned', async () => {
  await using testbed = await open();
  const [ada, eve] = [clientOf(testbed.scoped, 1), clientOf(testbed.scoped, 2)];
  const runId = `order-${randomUUID()}`;
  await ada.start(talker, { input: 'Q', runId });
  for (const ifExists of ['fail', 'return', 'restartFailed'] as const) {
    await expect(eve.start(talker, { input: 'Q', runId, ifExists })).rejects.toMatchObject({ code: 'run_exists' });
  }
  expect((await ada.start(talker, { input: 'Q', runId, ifExists: 'return' })).runId).toBe(runId);
});

test("a call of another user is not decided through one's own run whose id is a prefix of the waiting run's id", async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('refund', { amount: 1 }), callTool('refund', { amount: 2 }), say('Done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const scoped = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });
  const [ada, eve] = [clientOf(scoped, 1), clientOf(scoped, 2)];
  const runId = `orders-${randomUUID()}`;
  const waiting = await ada.start(clerk, { input: 'Q', runId: `${runId}/42` });
  await until(async () => (await waiting.approvals()).pending.length === 1, 'the run waits');
  const [pending] = (await waiting.approvals()).pending;
  if (pending === undefined) throw new Error('nothing waits');
  const own = await eve.start(clerk, { input: 'Q', runId });
  await expect(own.approve({ ...pending, runId: waiting.runId })).rejects.toMatchObject({ code: 'run_not_found' });
  // Even a client that reaches both runs decides a call only through the run itself or an ancestor.
  const refused = scoped.handle(runId).approve({ ...pending, runId: waiting.runId });
  await expect(refused).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining(`not in run "${runId}"`) });
  expect((await waiting.approvals()).pending).toEqual([pending]);
});

test('the session of another user is refused in the same way once it is closed, also for a message with an id that its user has sent', async () => {
  await using testbed = await open();
  const [ada, eve] = [clientOf(testbed.scoped, 1), clientOf(testbed.scoped, 2)];
  const id = `talk-${randomUUID()}`;
  await ada.session(talker, { id }).ask('Hi', { id: 'm1' });
  await expect(eve.session(talker, { id }).ask('Hi', { id: 'm1' })).rejects.toMatchObject({ code: 'run_exists' });
  await ada.session(talker, { id }).close();
  await ada.handle(id).result();
  const session = eve.session(talker, { id });
  for (const call of [() => session.turn(1), () => session.run.result()]) expect(await refusalOf(call(), id)).toContain('run_not_found');
  for (const call of [() => session.send('Hi'), () => session.ask('Hi'), () => session.open()])
    expect(await refusalOf(call(), id)).toContain('run_exists');
  // A refusal before anything is sent is about the message, not about the id.
  await expect(eve.session(talker, { id: `talk-${randomUUID()}` }).send(' ')).rejects.toMatchObject({ code: 'invalid_input' });
  await expect(ada.session(talker, { id }).send('Hi')).rejects.toMatchObject({ code: 'run_ended' });
});

test('a session that names its user is reached for that user alone, also by a client that reaches all runs', async () => {
  await using testbed = await open();
  const id = `talk-${randomUUID()}`;
  await testbed.scoped.session(talker, { id, user: 'ada' }).ask('Hi');
  for (const [name, call] of Object.entries(SESSION_CALLS)) {
    const refusal = ['open', 'send', 'ask'].includes(name) ? 'run_exists' : 'run_not_found';
    const session: SessionHandle = testbed.scoped.session('talker', { id, user: 'eve' });
    expect([name, await refusalOf(call(session), id)]).toEqual([name, expect.stringContaining(refusal)]);
  }
  await expect(testbed.scoped.session(talker, { id, user: 'eve' }).run.events().next()).rejects.toMatchObject({ code: 'run_not_found' });
  expect(await testbed.scoped.session(talker, { id, user: 'ada' }).turn(1)).toMatchObject({ output: 'Hello' });
});

test('messages to a program and to a workflow of the caller are refused like any id of another user', async () => {
  await using testbed = await open();
  const [ada, eve] = [clientOf(testbed.scoped, 1), clientOf(testbed.scoped, 2)];
  const { runId } = await ada.startProgram(note);
  const own = `own-${randomUUID()}`;
  await testbed.client.temporal.workflow.start('ownWorkflow', { workflowId: own, taskQueue: `none-${own}` });
  for (const id of [runId, own]) {
    const refused = eve.session(talker, { id }).send('Hi', { timeout: '5s' });
    expect([id, await refusalOf(refused, id)]).toEqual([id, expect.stringContaining('run_exists')]);
    const started = eve.start(talker, { input: 'Q', previousRunId: id });
    expect([id, await refusalOf(started, id)]).toEqual([id, expect.stringContaining('run_not_found')]);
  }
});

test('a conversation is continued for the same user also if the claims have changed', async () => {
  await using testbed = await open();
  const ada = clientOf(testbed.scoped, 1);
  const { runId } = await ada.start(talker, { input: 'Q', principal: { claims: { role: 'clerk' } } });
  await ada.handle(runId).result();
  const next = await ada.start(talker, { previousRunId: runId, input: 'More', principal: { claims: { role: 'manager' } } });
  expect(await next.result()).toMatchObject({ status: 'completed', output: 'Hello' });
});

test('a program takes over no result of the run of another principal', async () => {
  await using testbed = await open();
  const [ada, eve] = [clientOf(testbed.scoped, 1), clientOf(testbed.scoped, 2)];
  const { runId } = await ada.startProgram(note);
  const first = await ada.handle(runId).result();
  expect(first).toMatchObject({ status: 'completed', output: 'Hello' });
  await expect(eve.startProgram(note, { resume: { run: runId } })).rejects.toMatchObject({ code: 'run_not_found' });
  // A client that reaches all runs starts the program for another principal: the worker refuses it.
  const started = await testbed.scoped.startProgram(note, { resume: { run: runId }, principal: { tenant: 'acme', user: 'eve' } });
  const refused = await started.result();
  expect(refused).toMatchObject({ status: 'error', errorCode: 'run_not_found', usage: { llmCalls: 0 } });
  expect(refused.error).toContain(`no run "${runId}"`);
  const resumed = await ada.startProgram(note, { resume: { run: runId } });
  expect((await resumed.result()).units[0]?.steps[0]).toMatchObject({ reused: true, output: 'Hello' });
});

describe('lists', () => {
  test('have the runs, sessions and approvals of the principal alone', async () => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel([callTool('refund', { amount: 1 })], { repeatLast: true });
    await testbed.work({ agents: [clerk], providers: { scripted } });
    const all = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, userKey: 'a key' });
    const tenant = `tenant-${randomUUID()}`;
    const [ada, eve] = [all.as({ tenant, user: "o'ada" }), all.as({ tenant, user: 'eve' })];
    const mine = await ada.start(clerk, { input: 'Q' });
    const id = `talk-${randomUUID()}`;
    await ada.session(clerk, { id }).send('Q');
    await eve.start(clerk, { input: 'Q' });
    const ids = async (runs: AsyncGenerator<{ runId: string }>): Promise<string[]> =>
      (await Array.fromAsync(runs)).map(({ runId }) => runId);
    await until(async () => (await ids(ada.approvals())).length === 2, 'the approvals', 20);
    expect((await ids(ada.list())).toSorted()).toEqual([mine.runId, id].toSorted());
    expect((await Array.fromAsync(ada.sessions())).map(({ sessionId }) => sessionId)).toEqual([id]);
    expect(await ids(eve.list())).toHaveLength(1);
    expect(await ids(all.list({ tenant }))).toHaveLength(3);
    expect(await ids(all.list({ tenant, user: "o'ada" }))).toHaveLength(2);
    const { typedSearchAttributes } = await testbed.client.temporal.workflow.getHandle(mine.runId).describe();
    const user = typedSearchAttributes.getAll().find(({ key }) => key.name === 'LonghaulUser')?.value;
    expect(user).toMatch(/^[0-9a-f]{64}$/);
    expect(() => ada.list({ query: '1 = 1) OR (1 = 1' })).toThrow('takes no "query"');
    expect(() => ada.list({ user: 'eve' })).toThrow('takes no "user"');
  });
});

test('a start for another principal, and a client for another one, are refused', async () => {
  await using testbed = await open();
  const ada = testbed.scoped.as({ user: 'ada' });
  await expect(ada.start(talker, { input: 'Q', principal: { user: 'eve' } })).rejects.toThrow('another "principal"');
  expect(() => ada.session(talker, { id: 't', user: 'eve' })).toThrow('another "principal"');
  expect(() => ada.as({ user: 'eve' })).toThrow('acts for a principal already');
  expect(() => testbed.scoped.as({})).toThrow('has no tenant and no user');
  expect(() => testbed.scoped.as({ user: '' })).toThrow('principal');
});
