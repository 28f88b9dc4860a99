import { expect, test } from 'vitest';
import { z } from 'zod';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent, defineHook, defineTool, quickjs } from '../../../src/index.ts';
import { chatStream, says } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back',
  parameters: z.object({ amount: z.number(), memo: z.string().optional() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});

const lookUp = defineTool({ name: 'look_up', description: 'Looks up', parameters: z.object({}), execute: () => 'found' });

const advice = defineHook({ name: 'advice', on: 'pre_tool_use', match: 'refund', run: () => ({ inject: 'Refunds take three days.' }) });

const checked = defineHook({ name: 'checked', on: 'post_tool_use', match: 'look_up', run: () => ({ inject: 'As of today.' }) });

/** The calls of an answer of Chat Completions. */
function calls(...made: { id: string; name: string; arguments: object }[]) {
  const tool_calls = made.map(({ id, name, arguments: args }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return chatStream([{ role: 'assistant', content: null, tool_calls }], 'tool_calls');
}

/** The messages of the last request. */
function read({ requests }: FakeOpenAI): { role: string; content: unknown }[] {
  return requests.at(-1)?.body['messages'] as { role: string; content: unknown }[];
}

test('the provider gets what an approver changed and what hooks add after the results of a step, over the executions of a run', async () => {
  await using testbed = await Testbed.open();
  const server = await startFakeOpenAI(
    calls({ id: 'call_1', name: 'refund', arguments: { amount: 150 } }, { id: 'call_2', name: 'look_up', arguments: {} }),
    calls({ id: 'call_3', name: 'look_up', arguments: {} }),
    says('Done.'),
  );
  const agent = defineAgent({ name: 'desk', model: 'fake/m', tools: [refund, lookUp], hooks: [advice, checked] });
  const providers = { fake: openai({ baseURL: server.url, apiKey: 'test' }) };
  await testbed.work({ agents: [agent], providers, continueAsNew: { events: 10 } });
  const run = await testbed.client.start(agent, { input: 'Pay', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the call waits for a decision');
  // More than fits into the input of an activity.
  await run.approve('call_1', { arguments: { amount: 50, memo: 'm'.repeat(2_000) }, by: 'ann' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  const edit = `the approver changed its arguments before it ran: {"amount":50,"memo":"${'m'.repeat(2_000)}"}`;
  const notes = [
    'About the call of "look_up" (call_2): As of today.',
    `About the call of "refund" (call_1): ${edit}`,
    'About the call of "refund" (call_1): Refunds take three days.',
  ];
  const messages = read(server);
  expect(messages).toMatchObject([
    { role: 'system' },
    { role: 'user', content: 'Pay' },
    { role: 'assistant', tool_calls: [{ function: { arguments: '{"amount":150}' } }, {}] },
    { role: 'tool', content: 'found' },
    { role: 'tool', content: 'refunded 50' },
    { role: 'user', content: notes.join('\n') },
    { role: 'assistant' },
    { role: 'tool', content: 'found' },
    { role: 'user', content: 'About the call of "look_up" (call_3): As of today.' },
  ]);
  // The request of the second step is the beginning of the third's.
  expect(server.requests[1]?.body['messages']).toEqual(messages.slice(0, 6));
  await expectSameFromHistory(testbed, run);
  await server.close();
});

test('the provider gets notes about the calls of code after the result of the code', async () => {
  await using testbed = await Testbed.open();
  const server = await startFakeOpenAI(
    calls({ id: 'call_1', name: 'run_code', arguments: { code: 'print(refund({ amount: 150 }))' } }),
    says('Done.'),
  );
  const agent = defineAgent({ name: 'coder', model: 'fake/m', tools: [refund], hooks: [advice], code: { executor: quickjs() } });
  await testbed.work({ agents: [agent], providers: { fake: openai({ baseURL: server.url, apiKey: 'test' }) } });
  const run = await testbed.client.start(agent, { input: 'Pay', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the call waits for a decision');
  const [waiting = { callId: '', digest: '' }] = (await run.approvals()).pending;
  await run.approve(waiting, { arguments: { amount: 50 }, by: 'ann' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const about = 'About the call of "run_code" (call_1): its call of "refund":';
  const [result, notes] = read(server).slice(-2);
  expect(result).toMatchObject({ role: 'tool', content: 'refunded 50' });
  const edit = 'the approver changed its arguments before it ran: {"amount":50}';
  expect(notes).toEqual({ role: 'user', content: `${about} ${edit}\n${about} Refunds take three days.` });
  await expectSameFromHistory(testbed, run);
  await server.close();
});
