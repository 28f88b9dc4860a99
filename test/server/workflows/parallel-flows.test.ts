import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineFlow, defineTool } from '../../../src/index.ts';
import { callTool, failWith, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const sign = defineTool({ name: 'sign', description: 'Signs', parameters: z.object({}), approval: 'always', execute: () => 'signed' });
const reader = defineAgent({ name: 'reader', model: 'reader/m' });
const signer = defineAgent({ name: 'signer', model: 'signer/m', tools: [sign] });
const contract = defineFlow({ name: 'contract', kind: 'parallel', agents: [reader, signer] });

test('parallel agents are children of the flow, and their decisions are found there, across its executions', async () => {
  await using testbed = await Testbed.open();
  const providers = {
    reader: scriptedModel([say('It is fair.')]),
    signer: scriptedModel([callTool('sign', {}, 'c1'), say('It is signed.')]),
  };
  await testbed.work({ agents: [contract], providers, continueAsNew: { events: 20 } });
  const input = `The contract: ${'w'.repeat(2_000)}`;
  const handle = await testbed.client.start('contract', { input, taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length === 1, 'the call to wait');
  expect(await handle.status()).toMatchObject({ agentName: 'contract', status: 'pending_confirmation' });
  await expect(handle.send('And now?')).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('is a parallel flow, which accepts no messages'),
  });
  await handle.approve('c1', { id: 'd1', by: 'ann' });
  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({
    status: 'completed',
    output: '[reader]\nIt is fair.\n\n[signer]\nIt is signed.',
    usage: { llmCalls: 0 },
    treeUsage: { llmCalls: 3 },
  });
  const events = await Array.fromAsync(handle.events({ tree: true }));
  expect(events.filter(({ author }) => author === 'user')).toHaveLength(1);
  expect(new Set(events.map(({ author }) => author))).toEqual(new Set(['user', 'contract', 'reader', 'signer', 'ann']));
  const history = await historyOf(testbed, handle);
  expect(history.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [])).not.toContain('callModel');
  expect(JSON.stringify(history).length).toBeLessThan(60_000);
  await expectSameFromHistory(testbed, handle);
});

test('no session of a parallel flow begins: it would refuse every message after the first one', async () => {
  await using testbed = await Testbed.open();
  const { taskQueue } = testbed;
  const problem = '"contract" is a parallel flow, which takes one input and no further messages';
  expect(() => testbed.client.session(contract, { id: 's', taskQueue })).toThrow(problem);
  const providers = { reader: scriptedModel([say('Fair.')]), signer: scriptedModel([say('Signed.')]) };
  await testbed.work({ agents: [contract], providers });
  // Without the definition, only a worker knows what the agent is.
  const session = testbed.client.session('contract', { id: `${taskQueue}-session`, taskQueue });
  const answer = await session.ask('Is it fair?', { timeout: '30s' });
  expect(answer).toMatchObject({ status: 'error', errorCode: 'invalid_agent', error: expect.stringContaining(problem) as string });
  expect(providers.reader.requests).toEqual([]);
  await testbed.stopWorkers();
  expect(await session.status()).toMatchObject({ status: 'error', errorCode: 'invalid_agent' });
});

test('a message that arrives before a worker has resolved the flow is part of the input of all agents', async () => {
  await using testbed = await Testbed.open();
  const providers = { reader: scriptedModel([say('Fair.')]), signer: scriptedModel([say('Signed.')]) };
  const handle = await testbed.client.start('contract', { input: 'Q', taskQueue: testbed.taskQueue });
  await testbed.client.temporal.workflow.getHandle(handle.runId).signal('send', { id: 'early', content: 'Briefly.' });
  await testbed.work({ agents: [contract], providers });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  for (const { requests } of [providers.reader, providers.signer]) {
    expect(requests[0]?.conversation).toMatchObject([{ content: [{ content: 'Q\n\nBriefly.' }] }]);
  }
});

test('the error of a flow has the result of each agent', async () => {
  await using testbed = await Testbed.open();
  const providers = { reader: scriptedModel([say('It is fair.')]), signer: scriptedModel([failWith('model_forbidden', 'no access')]) };
  await testbed.work({ agents: [contract, reader, signer], providers });
  const result = await testbed.client.run(contract, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({
    status: 'error',
    errorCode: 'child_failed',
    error: 'Not all agents of flow "contract" have completed: signer (error: no access)',
    output: '[reader]\nIt is fair.',
  });
});

test('a cancelled flow cancels its agents', async () => {
  await using testbed = await Testbed.open();
  const providers = { reader: scriptedModel([hang('It is')]), signer: scriptedModel([callTool('sign', {}, 'c1')]) };
  await testbed.work({ agents: [contract], providers });
  const handle = await testbed.client.start('contract', { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length === 1, 'the call to wait');
  await handle.cancel('enough');
  expect(await handle.result()).toMatchObject({ status: 'cancelled' });
  const { children } = await handle.tree();
  expect(children.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
});
