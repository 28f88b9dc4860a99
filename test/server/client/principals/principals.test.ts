import { randomUUID } from 'node:crypto';
import { LonghaulClient, RunHandle, type SessionHandle } from '../../../../src/client/index.ts';
import { describe, expect, test } from 'vitest';
import { defineAgent } from '../../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { clientOf, refusalOf, RUN_CALLS, SESSION_CALLS } from './other-users.ts';

const talker = defineAgent({ name: 'talker', model: 'scripted/m' });

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

test('a client that acts for a principal reaches its runs, and no method of a run of another one tells that there is one', async () => {
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
    const refusal = name === 'open' ? 'run_exists' : 'run_not_found';
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
  expect(() => ada.session(talker, { id: 't', user: 'eve' })).toThrow('"principal.user" is "ada"');
  expect(() => ada.as({ user: 'eve' })).toThrow('acts for a principal already');
  expect(() => testbed.scoped.as({})).toThrow('names nobody');
  expect(() => testbed.scoped.as({ user: '' })).toThrow('principal');
});
