import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelClient, ModelRequest, ModelResponse } from '../../src/domain/model.ts';
import { outputText } from '../../src/domain/output-text.ts';
import { defineAgent } from '../../src/index.ts';
import { SIGNALS } from '../../src/protocol.ts';
import { hang, say, scriptedModel } from '../../src/testing/index.ts';
import { assistant, search } from './agents.ts';
import { Testbed, until } from './testbed.ts';

const CLIENTS = 5;
const MESSAGES_OF_EACH = 200;
/** A step that has begun takes what comes meanwhile: with this limit an execution takes fewer than 20 on average. */
const UPDATES_OF_AN_EXECUTION = 16;

const listener = defineAgent({ name: 'listener', model: 'patient/m', tools: [search], maxIterations: 100_000 });

/** What users said, in the order in which the model reads it. */
function said({ conversation }: ModelRequest): string[] {
  return conversation
    .flatMap(({ content }) => content)
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

/** A model that calls a tool until it has read so many messages, and then answers with what it has read. */
function patientModel(messages: number): ModelClient {
  const answer = (request: ModelRequest): ModelResponse => {
    const read = said(request);
    const more = read.length < messages;
    return {
      content: more ? '' : JSON.stringify(read),
      toolCalls: more ? [{ name: 'search', arguments: { query: 'more' } }] : [],
      usage: null,
      finishReason: more ? 'tool_calls' : 'stop',
    };
  };
  return { capabilities: { structuredOutput: true }, call: (request) => Promise.resolve(answer(request)) };
}

test('1,000 messages of five clients across a switch every 20 are each taken once, and those of one client in its order', async () => {
  await using testbed = await Testbed.open();
  const all = CLIENTS * MESSAGES_OF_EACH;
  await testbed.work({
    agents: [listener],
    providers: { patient: patientModel(all + 1) },
    continueAsNew: { updates: UPDATES_OF_AN_EXECUTION },
  });
  const run = await testbed.client.start(listener, { input: 'begin', taskQueue: testbed.taskQueue });
  const names = Array.from({ length: CLIENTS }, (_, client) =>
    Array.from({ length: MESSAGES_OF_EACH }, (__, index) => `c${client}-${index}`),
  );
  await Promise.all(
    names.map(async (own) => {
      for (const name of own) expect(await run.send(name, { id: name, timeoutMs: 60_000 })).toMatchObject({ id: name });
    }),
  );
  const result = await run.result();
  const read = JSON.parse(result.outputText) as string[];
  expect(read).toHaveLength(all + 1);
  expect(new Set(read).size).toBe(all + 1);
  for (const own of names) expect(read.filter((name) => own.includes(name))).toEqual(own);
  const { executions } = await run.status();
  expect(executions - 1).toBeGreaterThanOrEqual(45);
}, 180_000);

test('a message is read by the model before its next call, and an answer that was ready does not end the run', async () => {
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

test('the same message sent twice is one message, in the next execution too', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('a'), say('b'), say('c')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { updates: 3 } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await run.pause();
  await run.send('once', { id: 'm1' });
  const others = ['m2', 'm3', 'm4'];
  for (const id of others) await run.send(id, { id });
  await until(async () => (await run.status()).executions > 1, 'the run continues as new while it is paused');
  expect(await run.send('once', { id: 'm1' })).toMatchObject({ status: 'duplicate' });
  await run.resume();
  await run.result();
  const [last] = scripted.requests.toReversed();
  expect(last === undefined ? [] : said(last)).toEqual(['Q', 'once', ...others]);
});

test('signals that arrive during switches are taken in their order, and one that does not fit is an event', async () => {
  await using testbed = await Testbed.open();
  const all = 60;
  await testbed.work({ agents: [listener], providers: { patient: patientModel(all + 1) }, continueAsNew: { events: 12 } });
  const run = await testbed.client.start(listener, { input: 'begin', taskQueue: testbed.taskQueue });
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  await handle.signal(SIGNALS.send, { id: 'no content' });
  const names = Array.from({ length: all }, (_, index) => `s${index}`);
  // Spread over several switches: the server keeps a second between two.
  for (const name of names) {
    await handle.signal(SIGNALS.send, { id: name, content: name });
    await pause(40);
  }
  const result = await run.result();
  expect(JSON.parse(result.outputText)).toEqual(['begin', ...names]);
  const events = await Array.fromAsync(run.events());
  expect(events.flatMap(({ refused }) => (refused === undefined ? [] : [refused]))).toMatchObject([{ request: 'send', id: 'no content' }]);
  expect((await run.status()).executions).toBeGreaterThan(2);
}, 60_000);

test('a message is refused by its sender, by the run that does not take it, and after the end, each with the reason', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang('half')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, heartbeatMs: 200 });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await expect(run.send('', { id: 'x'.repeat(65) })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('id'),
  });
  await until(() => scripted.requests.length === 1, 'the model is asked');
  // Another client, without the checks of this one.
  const raw = testbed.client.temporal.workflow.getHandle(run.runId);
  await expect(raw.executeUpdate('send', { args: [{ id: 'm1' }] })).rejects.toMatchObject({
    cause: { type: 'invalid_input', message: expect.stringContaining(run.runId) },
  });
  const large = { id: 'm2', content: 'x'.repeat(99_999) };
  await expect(raw.executeUpdate('send', { args: [large] })).rejects.toMatchObject({ cause: { type: 'payload_too_large' } });
  expect(await run.send('x'.repeat(99_998), { id: 'm3' })).toMatchObject({ status: 'queued' });
  expect(await run.send('x'.repeat(99_997), { id: 'm4' })).toMatchObject({ status: 'queued' });
  await expect(run.send('one more', { id: 'm5', timeoutMs: 500 })).rejects.toMatchObject({
    code: 'wait_timeout',
    message: expect.stringContaining('queue'),
  });
  await run.cancel('enough');
  await run.result();
  await expect(run.send('too late')).rejects.toMatchObject({ code: 'run_ended' });
  await expect(testbed.client.handle('nobody').send('x')).rejects.toMatchObject({ code: 'run_not_found' });
});

test('Updates that pile up while a call goes on are refused as busy at 1,600, and the client brings them to the next execution', async () => {
  await using testbed = await Testbed.open();
  const gate = Promise.withResolvers<undefined>();
  let asked = 0;
  const model = patientModel(2);
  const patient: ModelClient = {
    ...model,
    call: async (request, context) => {
      asked += 1;
      if (asked === 1) await gate.promise;
      return model.call(request, context);
    },
  };
  await testbed.work({ agents: [listener], providers: { patient } });
  const run = await testbed.client.start(listener, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => asked === 1, 'the model is asked');
  const clients = Array.from({ length: 8 }, async () => {
    for (let update = 0; update < 200; update += 1) await run.resume();
  });
  await Promise.all(clients);
  await expect(run.send('too much', { timeoutMs: 300 })).rejects.toMatchObject({ message: expect.stringContaining('continued as new') });
  const sent = run.send('patience', { id: 'm1' });
  gate.resolve(undefined);
  expect(await sent).toMatchObject({ id: 'm1', status: 'queued' });
  expect(JSON.parse((await run.result()).outputText)).toEqual(['Q', 'patience']);
  expect((await run.status()).executions).toBeGreaterThan(1);
}, 60_000);
