import { expect, test } from 'vitest';
import { z } from 'zod';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import { type AnyAgent, defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptedReply, together } from '../../../src/testing/index.ts';
import { QUERIES } from '../../../src/core/protocol.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});
const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
const billing = defineAgent({
  name: 'billing',
  model: 'scripted/m',
  instructions: 'You are billing.',
  tools: [look],
  handoffs: ['triage'],
});
const triage = defineAgent({
  name: 'triage',
  model: 'scripted/m',
  instructions: 'You are triage.',
  tools: [look, refund],
  handoffs: [billing],
});
const agents: AnyAgent[] = [triage, billing];

function to(agent: string): ScriptedReply {
  return callTool('transfer_to_agent', { agent });
}

/** The names of the activities of a history, in order. */
function activitiesOf(history: readonly HistoryEvent[]): string[] {
  return history.flatMap(({ activityTaskScheduledEventAttributes: one }) =>
    one?.activityType?.name == null ? [] : [one.activityType.name],
  );
}

/** The inputs and results of the activities of a history, as text. */
function payloadsOf(history: readonly HistoryEvent[]): string[] {
  const payloads = history.flatMap((event) => [
    ...(event.activityTaskScheduledEventAttributes?.input?.payloads ?? []),
    ...(event.activityTaskCompletedEventAttributes?.result?.payloads ?? []),
  ]);
  return payloads.map(({ data }) => Buffer.from(data ?? []).toString());
}

test('a transfer adds one activity, whose result is the snapshot, and one back to an agent adds none', async () => {
  await using testbed = await Testbed.open();
  const script = [together(to('billing'), callTool('look')), to('triage'), to('billing'), say('done')];
  const model = scriptedModel(script);
  await testbed.work({ agents, providers: { scripted: model } });
  const handle = await testbed.client.start(triage, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', output: 'done', agentName: 'triage', lastAgent: 'billing' });
  expect(result.steps?.map(({ agent }) => agent)).toEqual(['triage', 'billing', 'triage', 'billing']);
  expect(result.usageByAgent).toMatchObject({ triage: { llmCalls: 2 }, billing: { llmCalls: 2 } });
  expect(await handle.status()).toMatchObject({ agentName: 'triage', currentAgent: 'billing' });
  const history = await historyOf(testbed, handle);
  expect(activitiesOf(history)).toEqual(['resolveAgent', 'callModel', 'look', 'resolveAgent', 'callModel', 'callModel', 'callModel']);
  expect(payloadsOf(history).filter((text) => text.includes('You are billing'))).toHaveLength(1);
  await expectSameFromHistory(testbed, handle);
  const listed = await testbed.client.temporal.workflow.getHandle(handle.runId).describe();
  expect(listed.searchAttributes).toMatchObject({ LonghaulAgent: ['triage'] });
  await testbed.stopWorkers();
  const read = await testbed.client.handle(handle.runId).result({ steps: true });
  expect(read.toJSON()).toEqual(result.toJSON());
});

test('another worker continues with the agent that took over, after decisions and in further executions', async () => {
  await using testbed = await Testbed.open();
  const script = [
    together(callTool('refund', { amount: 5 }), to('billing')),
    callTool('look'),
    to('triage'),
    callTool('look'),
    say('done'),
  ];
  const providers = { scripted: scriptedModel(script) };
  const continueAsNew = { events: 20 };
  await testbed.work({ agents, providers, continueAsNew });
  const handle = await testbed.client.start(triage, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length === 1, 'the refund to wait');
  await testbed.stopWorkers();
  await testbed.work({ agents, providers, continueAsNew });
  const [waiting] = (await handle.approvals()).pending;
  await handle.approve(waiting?.callId ?? '', { id: 'd1', by: 'ann' });
  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', output: 'done', agentName: 'triage', lastAgent: 'triage', stepsUsed: 5 });
  expect(result.steps?.map(({ agent }) => agent)).toEqual(['triage', 'billing', 'billing', 'triage', 'triage']);
  expect((await handle.status()).executions).toBeGreaterThan(1);
  await expectSameFromHistory(testbed, handle);
});

test('the details in the Temporal UI show who acts, and the query for the agent answers with it', async () => {
  await using testbed = await Testbed.open();
  const asking = defineAgent({ name: 'asking', model: 'scripted/m', tools: [refund] });
  const first = defineAgent({ name: 'first', model: 'scripted/m', handoffs: [asking] });
  await testbed.work({
    agents: [first, asking],
    providers: { scripted: scriptedModel([to('asking'), callTool('refund', { amount: 1 }, 'c1'), say('done')]) },
  });
  const handle = await testbed.client.start(first, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length === 1, 'the refund to wait');
  const workflow = testbed.client.temporal.workflow.getHandle(handle.runId);
  expect(await workflow.query<{ name: string }>(QUERIES.snapshot)).toMatchObject({ name: 'asking' });
  const metadata = await workflow.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(metadata.currentDetails).toContain('### first: pending_confirmation');
  expect(metadata.currentDetails).toContain('- **Agent** asking, after 1 handoff');
  await handle.approve('c1', { id: 'd1', by: 'ann' });
  expect((await handle.result()).output).toBe('done');
});
