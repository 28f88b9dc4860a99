import { expect, test } from 'vitest';
import { hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { fiveClients, said } from './five-clients.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test("messages of five clients are each read once, and each client's in order, by a run that continues as new every 20 messages", async () => {
  const { sent, read, executions } = await fiveClients(10);
  expect(read).toHaveLength(50 + 1);
  expect(new Set(read).size).toBe(50 + 1);
  for (const own of sent) expect(read.filter((name) => own.includes(name))).toEqual(own);
  expect(executions - 1).toBeGreaterThanOrEqual(2);
}, 60_000);

test('the model reads a message before its next call, and an answer that was ready does not end the run', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('first answer'), say('second answer')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await run.pause();
  expect(await run.send('and this?', { id: 'm1' })).toMatchObject({ version: 1, id: 'm1', status: 'queued', queued: 1, beforeStep: 1 });
  await run.resume();
  await run.result();
  const [last] = scripted.requests.toReversed();
  expect(last === undefined ? [] : said(last)).toEqual(['Q', 'and this?']);
});

test('a message sent twice is read once, even if the run has continued as new in between', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('a'), say('b'), say('c')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { updates: 3 } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await run.pause();
  const first = await run.send('once', { id: 'm1' });
  expect(await run.send('once', { id: 'm1' })).toEqual(first);
  const reused = { code: 'key_reused', message: expect.stringContaining('"m1"') as string };
  await expect(run.send('another one', { id: 'm1' })).rejects.toMatchObject(reused);
  const others = ['m2', 'm3', 'm4'];
  for (const id of others) await run.send(id, { id });
  await until(async () => (await run.status()).executions > 1, 'the run continues as new while it is paused');
  expect(await run.send('once', { id: 'm1' })).toMatchObject({ status: 'duplicate' });
  await expect(run.send('another one', { id: 'm1' })).rejects.toMatchObject(reused);
  await run.resume();
  await run.result();
  const [last] = scripted.requests.toReversed();
  expect(last === undefined ? [] : said(last)).toEqual(['Q', 'once', ...others]);
});

test('a message is refused by its client, by a run that does not accept it, and by a run that has ended, each with the reason', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang('half')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, heartbeatEvery: 200 });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await expect(run.send('', { id: 'x'.repeat(65) })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('id'),
  });
  await until(() => scripted.requests.length === 1, 'the model is asked');
  // A client without the checks of Longhaul's client.
  const raw = testbed.client.temporal.workflow.getHandle(run.runId);
  await expect(raw.executeUpdate('send', { args: [{ id: 'm1' }] })).rejects.toMatchObject({
    cause: { type: 'invalid_input', message: expect.stringContaining(run.runId) },
  });
  const large = { id: 'm2', content: 'x'.repeat(99_999) };
  await expect(raw.executeUpdate('send', { args: [large] })).rejects.toMatchObject({ cause: { type: 'payload_too_large' } });
  expect(await run.send('x'.repeat(99_998), { id: 'm3' })).toMatchObject({ status: 'queued' });
  expect(await run.send('x'.repeat(99_997), { id: 'm4' })).toMatchObject({ status: 'queued' });
  await expect(run.send('one more', { id: 'm5', timeout: 500 })).rejects.toMatchObject({
    code: 'wait_timeout',
    message: expect.stringContaining('queue'),
  });
  await run.cancel('enough');
  await run.result();
  await expect(run.send('too late')).rejects.toMatchObject({ code: 'run_ended' });
  await expect(testbed.client.handle('nobody').send('x')).rejects.toMatchObject({ code: 'run_not_found' });
});
