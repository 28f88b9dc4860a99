import { expect, test } from 'vitest';
import { z } from 'zod';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { HeldArchive } from './held-archive.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const parameters = z.object({ text: z.string() });

test('a paused run that is resumed while it continues as new is shown as running', async () => {
  await using testbed = await Testbed.open();
  const gate = Promise.withResolvers<string>();
  let hasBegun = false;
  const wait = defineTool({
    name: 'wait',
    description: 'Waits for the test',
    parameters,
    execute: () => {
      hasBegun = true;
      return gate.promise;
    },
  });
  const agent = defineAgent({ name: 'paused', model: 'scripted/m', tools: [wait] });
  const archive = new HeldArchive();
  const scripted = scriptedModel([callTool('wait', { text: 'a' }, 'c1'), hang()]);
  await testbed.work({ agents: [agent], providers: { scripted }, archive, continueAsNew: { updates: 2 } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  const workflow = testbed.client.temporal.workflow.getHandle(run.runId);
  const shown = async (): Promise<unknown> => (await workflow.describe()).searchAttributes['LonghaulStatus'];
  await until(() => hasBegun, 'the tool');
  await run.pause();
  gate.resolve('done');
  await until(async () => (await run.status()).status === 'paused', 'the run is paused');
  expect(await shown()).toEqual(['paused']);
  await run.send('one', { id: 'm1' });
  await run.send('two', { id: 'm2' });
  await archive.meanwhile(() => run.resume());
  await until(() => scripted.requests.length === 2, 'the model is called in the next execution');
  expect(await run.status()).toMatchObject({ status: 'running', executions: 2 });
  expect(await shown()).toEqual(['running']);
  await run.cancel('enough');
  await run.result();
}, 60_000);

test('a run that is cancelled while the archive is written keeps every finished result and every message that it has accepted', async () => {
  await using testbed = await Testbed.open();
  let noted = 0;
  const note = defineTool({ name: 'note', description: 'Notes', parameters, execute: ({ text }) => `${text}${(noted += 1)}` });
  const agent = defineAgent({ name: 'noting', model: 'scripted/m', tools: [note], parallel: false });
  const archive = new HeldArchive(() => noted === 1);
  const scripted = scriptedModel([
    together(say('I note'), ...['a', 'b', 'c'].map((text) => callTool('note', { text }, text))),
    say('done'),
  ]);
  await testbed.work({ agents: [agent], providers: { scripted }, archive, continueAsNew: { events: 8 } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await archive.meanwhile(async () => {
    await run.send('one more thing', { id: 'm1' });
    await run.cancel('enough');
  });
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'cancelled', output: 'I note', toolCallsTotal: 1, cancelReason: 'enough' });
  expect(result.steps?.map(({ toolCalls }) => toolCalls.map((call) => call.result))).toEqual([['a1', INTERRUPTED_CALL, INTERRUPTED_CALL]]);
  const events = await Array.fromAsync(run.events());
  expect(events.at(-1)?.content).toEqual([{ type: 'message', role: 'user', content: 'one more thing' }]);
  const kept = new Map(archive.batches.map((batch) => [batch.from, batch]));
  const records = [...kept.values()].flatMap((batch) => batch.records);
  expect(records.filter(({ type }) => type === 'event')).toHaveLength(events.length);
  expect(records.filter(({ type }) => type === 'step')).toHaveLength(1);
}, 60_000);
