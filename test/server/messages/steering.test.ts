import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { clerk } from '../approvals/decision-agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** The messages of users in the newest request. */
function said(requests: readonly ModelRequest[]): string[] {
  const { conversation = [] } = requests.at(-1) ?? {};
  return conversation
    .flatMap(({ content }) => content)
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

test('a message that interrupts aborts the model call in flight, keeps its output so far, and is in the next request', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang('half an ans'), say('the other answer')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, heartbeatEvery: 60_000 });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the model call');
  expect(await run.send('rather this', { id: 'm1', mode: 'interrupt' })).toMatchObject({ status: 'queued', offset: 1, beforeStep: 1 });
  // A heartbeat would come after a minute: the interruption arrives without it.
  const result = await run.result({ steps: true, timeout: 10_000 });
  expect(result).toMatchObject({ status: 'completed', output: 'the other answer', stepsUsed: 1 });
  expect(said(scripted.requests)).toEqual(['Q', 'rather this']);
  const { events } = await run.context();
  expect(events[1]).toMatchObject({ interrupted: true, usage: null, content: [{ content: 'half an ans' }] });
  expect(events[1]?.estimated?.totalTokens).toBeGreaterThan(0);
  expect(events[2]).toMatchObject({ author: 'user', content: [{ content: 'rather this' }] });
  expect(result.usage.llmCalls).toBe(2);
  expect(result.usage.estimated).toEqual(events[1]?.estimated);
});

test('a message that steers withdraws calls that wait for a decision, and the model reads it next', async () => {
  await using testbed = await Testbed.open();
  const calls = together(callTool('refund', { amount: 1 }, 'c1'), callTool('search', { query: 'a' }, 'c2'));
  const scripted = scriptedModel([calls, say('as you like')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits');
  expect(await run.send('no refund', { mode: 'steer' })).toMatchObject({ beforeStep: 2 });
  const result = await run.result({ steps: true });
  expect(result.steps?.[0]?.toolCalls.map(({ result: text }) => text)).toEqual([INTERRUPTED_CALL, 'found: a']);
  expect(said(scripted.requests)).toEqual(['Q', 'no refund']);
});

test('a queued message does not change the step: the model reads it after the waiting call is decided', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('refund', { amount: 1 }, 'c1'), say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits');
  await run.send('by the way');
  expect(await run.status()).toMatchObject({ status: 'pending_confirmation', queued: 1 });
  await run.approve('c1');
  const result = await run.result({ steps: true });
  expect(result.steps?.[0]?.toolCalls[0]?.result).toBe('paid 1');
  expect(said(scripted.requests)).toEqual(['Q', 'by the way']);
});
